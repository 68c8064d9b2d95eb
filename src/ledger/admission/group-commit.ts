/**
 * The ledger's port over the wallets in memory and the thread that writes. Holds, settles and checkpoints go through the wallets, and the wallets learn an answer of the
 * thread in the very turn in which it arrives. Rules: money.md "Holds", "Settle", "Crashes"; ledger.md "Wallets", "Group commit".
 */

import type { TokenRecord } from '../../core/api-token.ts'
import { InFlight } from '../../core/in-flight.ts'
import type { KeyRecord } from '../../core/key.ts'
import type {
  Attempt,
  Hold,
  HoldAnswer,
  HoldRequest,
  IdempotentUse,
  KeyChange,
  Ledger,
  Progress,
  Settlement,
  SyncedKeyBalance,
  UsedUp,
} from '../ledger.ts'
import { type Act, type Operation, type OperationResult, PROGRAM } from '../operation.ts'
import type { Answers } from '../task.ts'
import type { Committed, Opened, OpenProblem } from '../thread-messages.ts'
import type { GroupCommitOptions } from './group-commit-options.ts'
import { Leases } from './leases.ts'
import { Listeners } from './listeners.ts'
import type { Heard } from './pending-tasks.ts'
import { RequestCheckpoints } from './request-checkpoints.ts'
import { RequestEnds } from './request-ends.ts'
import type { StoreSupervisor } from './store-supervisor.ts'
import { WalletSync } from './wallet-sync.ts'
import { Wallets } from './wallets.ts'
import { stepText, WindowClock } from './window-clock.ts'
import { Writer } from './writer.ts'

export class GroupCommit implements Ledger {
  readonly #options: GroupCommitOptions
  readonly #wallets: Wallets
  readonly #clock: WindowClock
  readonly #writer: Writer
  readonly #supervisor: StoreSupervisor
  readonly #ends: RequestEnds
  readonly #sync: WalletSync
  readonly #checkpoints: RequestCheckpoints
  /** Undefined unless other processes spend of the same balances. */
  readonly #leases: Leases | undefined
  readonly #changes = new Listeners<KeyChange>()
  readonly #imports = new Listeners<undefined>()
  /** Settles that were sent and are not answered, by request id: a settle that is asked for twice gets the same answer. */
  readonly #settles = new InFlight<string, Promise<Answers['settle']>>()
  #closed: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
    this.#wallets = new Wallets(options.walletsMax, options.boot, options.budgetsOf, (hours) =>
      options.onFault({ problem: stepText(hours) }),
    )
    this.#clock = new WindowClock(this.#wallets, options.now)
    this.#supervisor = options.makeSupervisor((message) => this.#writer.post(message), {
      onMessage: (message) => {
        if (message.kind === 'giveBack') this.#leases?.giveBack(message.accountNumber)
        else this.#sync.hear(message)
      },
      onMissed: () => {
        this.#imports.tell(undefined)
        this.#sync.read(this.#wallets.setAllIndeterminate())
      },
      onStale: () => this.#sync.read(this.#wallets.runningKeys()),
      onFailover: () => {
        this.#checkpoints.repeat()
        this.#sync.read(this.#wallets.setAllIndeterminate())
      },
      onBoot: (boot) => this.#onBoot(boot),
      runs: () => this.#wallets.keys.runs(),
      hasThread: () => this.#writer.hasThread,
    })
    this.#writer = new Writer(options, {
      prices: () => this.#wallets.prices,
      onAnswers: (heard, committed) => this.#onAnswers(heard, committed),
      onLeftOpen: () => this.#supervisor.onLeftOpen(),
      rescueHint: (loss) => this.#supervisor.rescueHint(loss),
      onWalCheckpointDue: () => this.#supervisor.onWalCheckpointDue(),
      onReplayed: (requestIds) => this.#ends.learnReplayed(requestIds),
      onTakeOver: () => this.#onTakeOver(),
    })
    const { leaseIdleMs: idleMs, checkpointAfterMs: afterMs, now, onFault, isShared } = options
    const around = { wallets: this.#wallets, writer: this.#writer, clock: this.#clock, now }
    this.#ends = new RequestEnds({ ...around, isShared, resync: (keyIds) => this.#sync.read(keyIds), onFault })
    const tells = { onChange: (change: KeyChange) => this.#changes.tell(change), onImport: () => this.#imports.tell(undefined) }
    this.#sync = new WalletSync({ ...around, ends: this.#ends, isShared, ...tells, onFault })
    this.#checkpoints = new RequestCheckpoints({ ...around, afterMs, now })
    const onBug = (bug: unknown): void => onFault({ problem: 'giving a lease back failed by a bug', bug })
    this.#leases = isShared ? new Leases({ ...around, idleMs, onHeld: () => this.#checkpoints.watch(), onBug }) : undefined
  }

  /** Opens the ledger in a new thread. To be called once. */
  start(): Promise<Opened | OpenProblem> {
    return this.#writer.start()
  }

  hold(request: HoldRequest): HoldAnswer | Promise<HoldAnswer> {
    const answer = this.#holdNow(request)
    const holding = answer === 'unknown' ? this.#loadAndHold(request) : answer
    if (!(holding instanceof Promise)) return holding
    // A hold that succeeds after the client was told `unavailable` is released here, because no later message would end it.
    return this.#supervisor.whileHeard(holding, (late) => late === 'held' && this.void(request.requestId))
  }

  isUsedUp(keyId: string): UsedUp | Promise<UsedUp> {
    const usedUp = this.#wallets.keys.isUsedUp(keyId, this.#clock.hour)
    return usedUp === false || this.#leases === undefined ? usedUp : this.#isUsedUpByRow(keyId)
  }

  /** Reads the row again, because the message about another node's top-up may still be on its way here. */
  async #isUsedUpByRow(keyId: string): Promise<UsedUp> {
    const states = await this.#readRow(keyId)
    return states !== 'unavailable' && this.#wallets.keys.isUsedUp(keyId, this.#clock.hour)
  }

  checkpoint(requestId: string, progress: Progress): void {
    this.#checkpoints.note(requestId, progress)
  }

  async settle(settlement: Settlement): ReturnType<Ledger['settle']> {
    const { requestId } = settlement
    const debit = this.#wallets.settle(settlement)
    if (debit === undefined) {
      const first = await this.#settles.get(requestId)
      return first === 'unavailable' ? 'unavailable' : 'already'
    }
    const settled = this.#writer.ask({ kind: 'settle', debit })
    this.#settles.set(requestId, settled)
    this.#leases?.noteEnd(this.#wallets.settlingKeyOf(requestId) ?? '')
    const answer = await settled
    this.#settles.delete(requestId)
    return answer === 'unavailable' ? 'unavailable' : 'settled'
  }

  void(requestId: string, attempts: readonly Attempt[] = []): 'voided' | 'already' {
    const voided = this.#wallets.void(requestId, attempts)
    if (voided === undefined) return 'already'
    if (attempts.length > 0) this.#ends.record(voided.calls)
    if (voided.hasCheckpoint) this.#ends.resolveIndeterminate(requestId)
    this.#leases?.noteEnd(voided.keyId)
    return 'voided'
  }

  async findKey(secretHash: Uint8Array): Promise<KeyRecord | undefined | 'unavailable'> {
    const found = await this.#writer.ask({ kind: 'findKey', secretHash, ...this.#clock.asked })
    return typeof found === 'object' ? found.record : found
  }

  foreignHeads = (): Promise<Answers['foreignHeads']> => this.#writer.ask({ kind: 'foreignHeads' })

  findIdempotency(keyId: string, headerHash: Uint8Array): Promise<IdempotentUse | undefined | 'unavailable'> {
    return this.#supervisor.whileHeard(this.#writer.ask({ kind: 'findIdempotency', keyId, headerHash, now: this.#options.now() }))
  }

  findToken = (tokenHash: Uint8Array): Promise<TokenRecord | undefined | 'unavailable'> =>
    this.#supervisor.whileHeard(this.#writer.ask({ kind: 'findToken', tokenHash }))

  keyBalanceOf = (keyId: string): SyncedKeyBalance | undefined => this.#wallets.keys.keyBalanceOf(keyId, this.#clock.hour)

  async keyBalanceNow(keyId: string): Promise<SyncedKeyBalance | undefined> {
    if (this.#options.isShared && this.mayAdmit() && this.#wallets.keys.has(keyId)) await this.#readRow(keyId)
    return this.keyBalanceOf(keyId)
  }

  /** The wallets have learned the answer when it is here. */
  #readRow = (keyId: string) => this.#supervisor.whileHeard(this.#writer.ask({ kind: 'keyStates', keyIds: [keyId], ...this.#clock.asked }))

  async operate(operation: Operation, act: Act = PROGRAM): Promise<OperationResult> {
    const { lost } = this.#writer
    if (lost !== undefined) return { result: 'refused', problem: `${lost}: nothing is changed until that is mended` }
    const operated = await this.#writer.ask({ kind: 'operate', operation, act })
    if (operated.result !== 'done') return operated
    const { isNew: _, inForcePicos: _budget, ...done } = operated
    return done
  }

  onKeyChange = (listener: (change: KeyChange) => void): void => this.#changes.add(listener)

  onImport = (listener: () => void): void => this.#imports.add(listener)

  holds = (): readonly Hold[] => this.#wallets.holds()

  isWritable = (): boolean => this.#writer.isWritable && this.mayAdmit()

  mayAdmit = (): boolean => this.#supervisor.mayAdmit()

  isSound = (): boolean => this.#supervisor.isSound()

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#checkpoints.stop()
    this.#ends.resolveAllIndeterminate()
    this.#leases?.stop()
    this.#supervisor.stop()
    await this.#writer.close(() => this.#supervisor.close())
    await this.#supervisor.onClosed()
  }

  #holdNow(request: HoldRequest): HoldAnswer | 'unknown' | Promise<HoldAnswer> {
    if (!this.#writer.isWritable || this.#writer.isClosing || !this.#supervisor.mayAdmit()) return 'unavailable'
    const answer = this.#leases === undefined ? this.#wallets.hold(request, performance.now()) : this.#leases.hold(request)
    if (answer === 'held') this.#checkpoints.watch()
    return answer
  }

  /**
   * Loads a key that has left the memory since it was found, then holds. When the answer has come, the key is in memory, unless the ledger has no such key. It is read once more where the
   * account turned out to be in a later hour than the key was read for.
   */
  async #loadAndHold(request: HoldRequest): Promise<HoldAnswer> {
    for (let reads = 0; reads < 2; reads++) {
      const states = await this.#writer.ask({ kind: 'keyStates', keyIds: [request.keyId], ...this.#clock.asked })
      if (states === 'unavailable') return 'unavailable'
      const answer = await this.#holdNow(request)
      if (answer !== 'unknown') return answer
    }
    return this.#wallets.keys.has(request.keyId) ? 'unavailable' : 'disabled'
  }

  #onAnswers(heard: readonly Heard[], committed: Committed | undefined): void {
    this.#sync.learn(heard, committed?.settledRows)
    if (committed === undefined) return
    if (committed.commitMs !== undefined) this.#supervisor.onCommitted()
    // Changes are told before the callers get their answers: the caller of an operator's write must not find the old record afterwards.
    for (const change of committed.changes) this.#changes.tell(change)
    if (committed.isWritable) {
      this.#ends.resolveAllIndeterminate()
      this.#ends.recordUnrecorded()
      this.#sync.readAfterIndeterminate()
    }
    this.#options.onStorage(committed)
  }

  /** The reads go behind everything that was sent under the previous boot. The thread knows the new boot by now, and the rows say which part was waived. */
  #onBoot(boot: number): void {
    this.#wallets.becomeBoot(boot)
    this.#sync.read(this.#wallets.setAllIndeterminate())
  }

  #onTakeOver(): Promise<void> {
    this.#wallets.forgetLeases()
    this.#checkpoints.repeat()
    this.#ends.onTakeOver()
    // The read goes behind all these, because only the rows have what the dead thread committed and did not tell.
    return this.#sync.readAll()
  }
}
