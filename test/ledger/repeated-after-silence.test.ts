/**
 * Protects requests.md "Repeated requests", ledger.md "Failing writes", processes.md "Death": a request whose relay was told `unavailable`, because the ledger process stood still and no
 * spill kept the end, is not charged a second time beside its repetition at another relay, whatever is written when the ledger process goes on.
 */

import type { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import { Patience } from '../../src/ledger/admission/patience.ts'
import type { SupervisorListener } from '../../src/ledger/admission/store-supervisor.ts'
import { enterThread } from '../../src/ledger/admission/thread-handle.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import { RelayLink } from '../../src/ledger/relays/link.ts'
import { ClaimsOverLink } from '../../src/ledger/relays/relay-shares.ts'
import { RelaySupervisor } from '../../src/ledger/relays/relay-supervisor.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import { storeAmongRelays, storeInLedger } from '../../src/relay/answer-store.ts'
import { FileGround } from '../sim/file-ground.ts'
import type { Fault } from '../sim/ground.ts'
import { SimulatedThread } from '../sim/thread.ts'
import { settleTurn, VirtualTime } from '../sim/virtual-time.ts'
import { Wire } from '../sim/wire.ts'
import { createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../support/ledger.ts'
import { KEEPS_NOTHING } from '../support/relays.ts'

type Hearing = Parameters<NonNullable<ConstructorParameters<typeof RelayHub>[0]['listen']>>[1]

const IDEMPOTENCY = { headerHash: sha256('again'), bodyHash: sha256('body'), expiresAt: Number.MAX_SAFE_INTEGER }
const REPEATABLE = { keyId: 'key_1', headerHash: IDEMPOTENCY.headerHash, bodyHash: IDEMPOTENCY.bodyHash }
const TURNS_MAX = 20_000

let time: VirtualTime
let stage: Stage | undefined
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => {
  stage?.close()
  stage = undefined
  time.restore()
})

/** A ledger process with its file, and relays whose own spills keep nothing. */
class Stage {
  readonly ledger: GroupCommit
  readonly opened: Promise<unknown>
  readonly #ground = new FileGround(makeFolder(), time.now)
  readonly #hub: RelayHub
  readonly #owner = {}
  readonly #threads: SimulatedThread[] = []
  readonly #wires: Wire[] = []
  #hearing: Hearing | undefined
  #fault: Fault = 'none'
  #isStill = false

  constructor() {
    this.#hub = time.as(this.#owner, () => this.#makeHub())
    this.ledger = time.as(this.#owner, () => this.#makeLedger())
    this.opened = this.ledger.start()
  }

  #makeHub(): RelayHub {
    return new RelayHub({
      ...{ path: '', state: new SharedState(KEEPS_NOTHING), now: time.now, isSound: () => true, onFault: () => undefined },
      listen: (_, hearing) => {
        this.#hearing = hearing
        return { close: () => undefined }
      },
      beginningOf: () => 'then',
    })
  }

  #makeLedger(): GroupCommit {
    const startThread = (): Worker => {
      const storage = () => ({ fault: this.#fault, spill: 'fails' }) as const
      const thread = new SimulatedThread(time, storage, (opening) => this.#ground.open(opening, () => this.#fault))
      this.#threads.push(thread)
      return thread as unknown as Worker
    }
    const thread = { place: () => this.#ground.place(), bootId: 'boot', startThread, now: time.now, retryMs: 2_000, spillBytes: 0 }
    return new GroupCommit({
      enter: this.#hub.through((listener) => enterThread({ ...thread, keepsInFlight: () => false, onFault: () => undefined }, listener)),
      ...{ isShared: false, now: time.now, checkpointAfterMs: 1_000, leaseIdleMs: 5_000, onFault: () => undefined },
      ...{ onStorage: () => undefined, makeSupervisor: this.#ground.makeSupervisor },
    })
  }

  openRelay(pid: number) {
    let listener: SupervisorListener | undefined
    const patience = new Patience({ onBug: () => undefined })
    const claims = new ClaimsOverLink({ link: () => link, patience, onBug: () => undefined })
    const link: RelayLink = new RelayLink({
      ...{ path: '', bootId: `relay-${pid}`, runs: () => listener?.runs() ?? { accounts: [], keys: [] } },
      held: () => ({ claims: claims.running, places: [], running: [] }),
      ...{ onMissed: () => listener?.onMissed(), onNews: (message) => listener?.onMessage(message), onFenced: () => undefined },
      ...{ onFollowed: () => undefined, onHeard: () => patience.hear(), onFault: () => undefined, onWelcome: () => 'in' },
      connect: (_, ends) => Promise.resolve(this.#connect(pid, ends)),
    })
    const ledger = new GroupCommit({
      ...{ enter: link.enter, isShared: true, now: time.now, checkpointAfterMs: 1_000, leaseIdleMs: 5_000 },
      ...{ onFault: () => undefined, onStorage: () => undefined, sendsMax: 100, away: { afterMs: 2_000, keep: () => false } },
      makeSupervisor: (_, heard) => {
        listener = heard
        return new RelaySupervisor(link, patience, { close: () => undefined })
      },
    })
    ledger.start().catch(() => undefined)
    const kept = storeInLedger(
      { ledger, kept: undefined, now: time.now },
      { accountId: 'acc_1', key: new Uint8Array(), repeatable: REPEATABLE },
    )
    return { ledger, link, store: storeAmongRelays(claims, { repeatable: REPEATABLE }, kept) }
  }

  #connect(pid: number, { hear, onClosed }: Parameters<NonNullable<ConstructorParameters<typeof RelayLink>[0]['connect']>>[1]) {
    const wire = new Wire(pid, {
      hearInHub: (message, connection) => time.as(this.#owner, () => this.#hearing?.hear(connection, message)),
      hearInRelay: hear,
      onClosedInHub: (connection) => this.#hearing?.onClosed(connection),
      onClosedInRelay: onClosed,
      isHubFrozen: () => this.#isStill,
      isFrozen: () => false,
    })
    this.#wires.push(wire)
    return { send: wire.send.bind(wire), close: () => wire.leave() }
  }

  standStill(): void {
    this.#isStill = true
    time.freeze(this.#owner, ...this.#threads)
  }

  goOn(): void {
    this.#isStill = false
    time.thaw()
  }

  meet(fault: Fault): void {
    this.#fault = fault
    for (const thread of this.#threads) thread.meetStorage()
  }

  /** Lets all go on until something is so. Wires are read from the oldest on, as the kernel has them ready. */
  async until<T>(asked: Promise<T> | (() => boolean), what: string): Promise<T> {
    const told: { value?: T; isThere: boolean } = { isThere: false }
    if (typeof asked !== 'function') asked.then((value) => Object.assign(told, { value, isThere: true })).catch(() => undefined)
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      if (told.isThere || (typeof asked === 'function' && asked())) return told.value as T
      this.#wires.find(({ isBusy }) => isBusy)?.deliver(() => 0)
      if (!this.#isStill) for (const thread of this.#threads) if (!thread.deliver('thread')) thread.deliver('gateway')
      if (!this.#wires.some(({ isBusy }) => isBusy)) time.runNext()
      await settleTurn()
    }
    throw new Error(`not so: ${what}`)
  }

  receipts(): readonly unknown[] {
    const db = this.#ground.read() as Database
    try {
      return db.query('SELECT request_id AS id, cost_picos AS cost FROM receipts ORDER BY request_id').all()
    } finally {
      db.close()
    }
  }

  close(): void {
    for (const thread of this.#threads) thread.die()
    this.#hub.close()
  }
}

const COST = usd('0.3')
const settleOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { idempotency: IDEMPOTENCY, now: time.now() })
const holdOf = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.5'), { now: time.now() })

/** One relay ends a request while the ledger process stands still, and its client is told an error. The ledger process goes on, over a disk that is as `fault` says. */
async function makeDoubt(fault: Fault) {
  const opened = new Stage()
  stage = opened
  await opened.until(opened.opened, 'the ledger is open')
  await opened.until(opened.ledger.operate(createKey('key_1', { balanceUsd: '10' })), 'there is a key')
  const [a, b] = [opened.openRelay(1), opened.openRelay(2)] as const
  await opened.until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both may admit')
  for (const { ledger } of [a, b]) await opened.until(ledger.findKey(sha256('key_1')), 'the key is known')
  expect(await opened.until(a.store.claim(), 'it is claimed')).toEqual({ kind: 'claimed' })
  expect(await opened.until(Promise.resolve(a.ledger.hold(holdOf('req_a'))), 'it is held')).toBe('held')
  opened.standStill()
  expect(await opened.until(a.ledger.settle(settleOf('req_a')), 'it is given up')).toBe('unavailable')
  a.store.release()
  opened.meet(fault)
  opened.goOn()
  await opened.until(() => a.ledger.mayAdmit() && b.ledger.mayAdmit(), 'both may admit again')
  return { stage: opened, b }
}

test('an end that was given up and is written all the same, when the ledger process goes on, is all that its repetition at another relay finds', async () => {
  const { stage, b } = await makeDoubt('none')
  expect(await stage.until(b.store.claim(), 'the other relay asks')).toMatchObject({ kind: 'used', requestId: 'req_a' })
  expect(stage.receipts()).toEqual([{ id: 'req_a', cost: COST }])
})

test('an end that was given up is all that its repetition finds, too, where the disk takes no write at first and does before the ledger gives the end up', async () => {
  const { stage, b } = await makeDoubt('broken')
  let isAnswered = false
  const asked = b.store.claim().finally(() => {
    isAnswered = true
  })
  const untilMs = performance.now() + 500
  await stage.until(() => isAnswered || performance.now() >= untilMs, 'no write is taken for a while')
  expect(stage.receipts()).toEqual([])
  stage.meet('none')
  expect(await stage.until(asked, 'the other relay asks')).toMatchObject({ kind: 'used', requestId: 'req_a' })
  expect(stage.receipts()).toEqual([{ id: 'req_a', cost: COST }])
})

test('an end that was given up is never written where the disk takes no write for longer, and its repetition is all that is charged', async () => {
  const { stage, b } = await makeDoubt('broken')
  expect(await stage.until(b.store.claim(), 'the other relay asks')).toEqual({ kind: 'claimed' })
  stage.meet('none')
  await stage.until(() => b.ledger.isWritable(), 'the disk takes writes')
  expect(await stage.until(Promise.resolve(b.ledger.hold(holdOf('req_b'))), 'it is held')).toBe('held')
  expect(await stage.until(b.ledger.settle(settleOf('req_b')), 'it is settled')).toBe('settled')
  expect(stage.receipts()).toEqual([{ id: 'req_b', cost: COST }])
})
