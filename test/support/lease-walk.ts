/**
 * Walks of several nodes over one database of leases: each node is its real wallets with what it has sent and not heard, in whatever order the walk says, with
 * answers that are lost, threads that ask again, moves that come late, and nodes that end. What must hold is looked at after every step. Rules: ledger.md "Leases".
 */

import fc from 'fast-check'
import { picos } from '../../src/core/money.ts'
import { Wallets } from '../../src/ledger/admission/wallets.ts'
import type { KeyState } from '../../src/ledger/key-state.ts'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../../src/ledger/lease-move.ts'
import type { HoldAnswer } from '../../src/ledger/ledger.ts'
import type { LeaseDatabase } from './lease-model.ts'
import { holdRequest, settlement } from './ledger.ts'

export type WalkStep =
  | Readonly<{ kind: 'hold'; node: number; key: number; amount: bigint }>
  /** `part`: of what it holds, in eighths. */
  | Readonly<{ kind: 'settle' | 'fail'; node: number; request: number; part: bigint }>
  | Readonly<{ kind: 'void'; node: number; request: number }>
  /** The first of what was sent reach the database as one group. again: the thread dies before it says so. lost: nobody is told. never: they did not. */
  | Readonly<{ kind: 'deliver'; node: number; count: number; ends: 'told' | 'again' | 'lost' | 'never' }>
  | Readonly<{ kind: 'hear'; node: number; count: number }>
  | Readonly<{ kind: 'sweep' | 'over' | 'forget' | 'expire' | 'rejoin'; node: number }>
  | Readonly<{ kind: 'wanted'; node: number; account: number }>
  /** A move that nobody waits for any more is done only now. */
  | Readonly<{ kind: 'late'; node: number; move: number }>
  | Readonly<{ kind: 'credit'; account: number; amount: bigint }>

export type WalkSetting = Readonly<{ nodes: number; balances: readonly bigint[]; limits: readonly (bigint | null)[] }>

const LARGE = 5_000n
export const walkSetting: fc.Arbitrary<WalkSetting> = fc.record({
  nodes: fc.integer({ min: 1, max: 4 }),
  balances: fc.array(fc.oneof(fc.bigInt(0n, 150n), fc.bigInt(0n, LARGE)), { minLength: 1, maxLength: 2 }),
  limits: fc.array(fc.option(fc.oneof(fc.bigInt(0n, 100n), fc.bigInt(0n, LARGE))), { minLength: 1, maxLength: 3 }),
})

const node = fc.nat(3)
const request = fc.nat(50)
const one = <Kind extends string>(kind: Kind) => fc.constant(kind)
export const walkStep: fc.Arbitrary<WalkStep> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: one('hold'), node, key: fc.nat(2), amount: fc.bigInt(0n, 40n) }) },
  { weight: 4, arbitrary: fc.record({ kind: one('settle'), node, request, part: fc.bigInt(0n, 8n) }) },
  { weight: 1, arbitrary: fc.record({ kind: one('fail'), node, request, part: fc.bigInt(0n, 8n) }) },
  { weight: 2, arbitrary: fc.record({ kind: one('void'), node, request }) },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: one('deliver'),
      node,
      count: fc.integer({ min: 1, max: 6 }),
      ends: fc.constantFrom('told', 'told', 'told', 'told', 'again', 'lost', 'never'),
    }),
  },
  { weight: 7, arbitrary: fc.record({ kind: one('hear'), node, count: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: one('sweep'), node }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('over', 'forget', 'expire', 'rejoin'), node }) as fc.Arbitrary<WalkStep> },
  { weight: 2, arbitrary: fc.record({ kind: one('wanted'), node, account: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: one('late'), node, move: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ kind: one('credit'), account: fc.nat(1), amount: fc.bigInt(0n, 80n) }) },
)

type Sent =
  | Readonly<{ kind: 'settle'; requestId: string; key: number; cost: bigint; fails: boolean }>
  | Readonly<{ kind: 'ask'; ask: LeaseAsk; requestId: string }>
  | Readonly<{ kind: 'release'; release: LeaseMove }>
type Heard = Readonly<{ sent: Sent; answer: LeaseAnswer | 'unavailable' | undefined }>
type Running = Readonly<{ requestId: string; key: number; amount: bigint }>
type Node = {
  lane: number
  wallets: Wallets
  outbox: Sent[]
  /** By the message that they come in. */
  inbox: (readonly Heard[])[]
  /** That the database was asked for. */
  moves: (LeaseAsk | LeaseMove)[]
  /** Settles that are in the database. */
  applied: Set<string>
  /** Numbers of the last move, and of that before which all was forgotten. */
  lastMove: number
  forgotten: number
}

export class LeaseWalk {
  readonly #setting: WalkSetting
  readonly #database: LeaseDatabase
  readonly #nodes: Node[]
  /** What is held, by the node that holds it, the oldest first. */
  readonly #running = new Map<Node, Running[]>()
  /** Costs that are not in the database, by request. */
  readonly #unapplied = new Map<string, Readonly<{ key: number; amount: bigint }>>()
  readonly #answers = new Map<string, HoldAnswer>()
  readonly #leftAtStart: ReadonlyMap<number, bigint>
  #requests = 0
  /** The most that a request of this walk asked for. */
  #greatest = 0n
  #spent = 0n
  #credited = 0n

  constructor(setting: WalkSetting, database: LeaseDatabase) {
    this.#setting = setting
    this.#database = database
    this.#nodes = Array.from({ length: setting.nodes }, (_, lane) => this.#makeNode(lane + 1))
    this.#leftAtStart = new Map(setting.balances.map((balance, index) => [index + 1, balance]))
  }

  step(step: WalkStep): void {
    switch (step.kind) {
      case 'hold':
        this.hold(step.node, 1 + (step.key % this.#setting.limits.length), step.amount)
        break
      case 'settle':
      case 'fail':
        this.#end(this.#node(step.node), step.request, (amount) => ({ cost: (amount * step.part) / 8n, fails: step.kind === 'fail' }))
        break
      case 'void':
        this.#end(this.#node(step.node), step.request, () => 'void')
        break
      case 'deliver':
        this.#deliver(this.#node(step.node), step.count, step.ends)
        break
      case 'hear':
        this.#hear(this.#node(step.node), step.count)
        break
      case 'sweep':
        this.#send(this.#node(step.node), this.#node(step.node).wallets.sweepLeases())
        break
      case 'over':
        this.#send(this.#node(step.node), this.#node(step.node).wallets.releases('over'))
        break
      case 'wanted':
        this.#send(
          this.#node(step.node),
          this.#node(step.node).wallets.releases('wanted', 1 + (step.account % this.#setting.balances.length)),
        )
        break
      case 'forget':
        this.#forget(this.#node(step.node))
        break
      case 'expire':
        this.#expire(this.#node(step.node))
        break
      case 'rejoin':
        this.#rejoin(this.#node(step.node))
        break
      case 'late': {
        const { lane, moves } = this.#node(step.node)
        const move = moves[step.move % Math.max(1, moves.length)]
        if (move !== undefined) this.#database.move(lane, [move])
        break
      }
      case 'credit': {
        const account = 1 + (step.account % this.#setting.balances.length)
        this.#database.credit(account, step.amount)
        this.#credited += step.amount
      }
    }
    this.check()
  }

  /** Undefined where it has to wait for its answer, which `answerTo` knows then. */
  hold(index: number, key: number, amount: bigint): string {
    const node = this.#node(index)
    const requestId = `req_${++this.#requests}`
    if (amount > this.#greatest) this.#greatest = amount
    const answer = node.wallets.holdLeased(holdRequest(requestId, `key_${key}`, picos(amount)), 0)
    if (typeof answer !== 'string') {
      node.lastMove = answer.number
      node.outbox.push({ kind: 'ask', ask: answer, requestId })
    } else if (answer !== 'unknown') {
      this.#answers.set(requestId, answer)
      if (answer === 'held') this.#runningOf(node).push({ requestId, key, amount })
    }
    return requestId
  }

  answerTo(requestId: string): HoldAnswer | undefined {
    return this.#answers.get(requestId)
  }

  /** Of the first account, what the node has. */
  leaseOf(index: number): bigint {
    const { lane } = this.#node(index)
    return this.#database.leasesOf('account', 1).find((lease) => lease.lane === lane)?.amount ?? 0n
  }

  /** Everything that was sent arrives and is heard. */
  settleDown(): void {
    for (const node of this.#nodes) {
      while (node.outbox.length > 0 || node.inbox.length > 0) {
        this.#deliver(node, node.outbox.length, 'told')
        this.#hear(node, node.inbox.length)
      }
    }
    this.check()
  }

  /** All requests end, and all nodes: what is left must be what nobody spent. */
  finish(): void {
    // A move that came late may have left more than its node knows: its next request finds that.
    this.settleDown()
    for (const index of this.#nodes.keys()) for (const key of this.#setting.limits.keys()) this.hold(index, key + 1, 1n)
    this.settleDown()
    for (const node of this.#nodes) while (this.#runningOf(node).length > 0) this.#end(node, 0, () => 'void')
    for (let round = 0; round < 2; round++) {
      this.settleDown()
      for (const node of this.#nodes) this.#send(node, node.wallets.releases('over'))
    }
    this.settleDown()
    const { balances, limits } = this.#setting
    for (const index of balances.keys()) this.#expectNothing('account', index + 1)
    for (const index of limits.keys()) this.#expectNothing('key', index + 1)
    const left = balances.reduce((sum, _, index) => sum + this.#database.balanceOf(index + 1), 0n)
    const given = [...this.#leftAtStart.values()].reduce((sum, balance) => sum + balance, this.#credited)
    if (left !== given - this.#spent) throw new Error(`${left} are left of ${given}, of which ${this.#spent} are spent`)
  }

  /** What holds at every moment. */
  check(): void {
    this.#setting.balances.forEach((_, index) => {
      const account = index + 1
      this.#checkBudget(
        `account ${account}`,
        this.#database.balanceOf(account),
        'account',
        account,
        (key) => this.#accountOf(key) === account,
      )
    })
    this.#setting.limits.forEach((limit, index) => {
      const left = this.#database.leftOf(index + 1)
      if (limit !== null && left !== undefined) this.#checkBudget(`key ${index + 1}`, left, 'key', index + 1, (key) => key === index + 1)
    })
  }

  /** All that may still be spent is leased, and leases are at most what is left and a part of one request. */
  #checkBudget(name: string, left: bigint, what: 'account' | 'key', number: number, isOf: (key: number) => boolean): void {
    const amounts = [...[...this.#running.values()].flat(), ...this.#unapplied.values()].filter(({ key }) => isOf(key))
    const most = sum(amounts.map(({ amount }) => amount))
    const leased = sum(this.#database.leasesOf(what, number).map(({ amount }) => amount))
    if (most > leased) throw new Error(`${name}: ${most} may be spent, and ${leased} are leased`)
    if (leased > left && leased - left >= this.#greatest) throw new Error(`${name}: ${leased} are leased of ${left}`)
  }

  #deliver(node: Node, count: number, ends: Extract<WalkStep, { kind: 'deliver' }>['ends']): void {
    const group = node.outbox.slice(0, count)
    if (ends !== 'never') {
      for (const sent of group) if (sent.kind === 'settle') this.#apply(node, sent)
    }
    const moves = group.map((sent) => moveOf(sent)).filter((move) => move !== undefined)
    if (ends !== 'never') node.moves.push(...moves)
    const answers = ends === 'never' || moves.length === 0 ? [] : this.#database.move(node.lane, moves)
    if (ends === 'again') return
    node.outbox.splice(0, group.length)
    let place = 0
    const heard: Heard[] = []
    const kept: Sent[] = []
    for (const sent of group) {
      if (sent.kind !== 'settle') {
        const answer = answers[place++]
        heard.push({ sent, answer: ends === 'told' && answer !== undefined ? answer : 'unavailable' })
      } else if (ends !== 'never') heard.push({ sent, answer: undefined })
      else kept.push(sent)
    }
    // What the spill keeps comes before whatever is written next.
    node.outbox.unshift(...kept)
    node.inbox.push(heard)
  }

  #apply(node: Node, { requestId, key, cost, fails }: Extract<Sent, { kind: 'settle' }>): void {
    if (fails || node.applied.has(requestId)) return
    node.applied.add(requestId)
    this.#database.settle(node.lane, key, cost)
    this.#unapplied.delete(requestId)
    this.#spent += cost
  }

  #hear(node: Node, count: number): void {
    for (const heard of node.inbox.splice(0, count)) this.#hearMessage(node, heard)
  }

  /** Settles first. */
  #hearMessage(node: Node, heard: readonly Heard[]): void {
    for (const { sent } of heard) {
      if (sent.kind !== 'settle') continue
      this.#unapplied.delete(sent.requestId)
      if (sent.fails) node.wallets.putBack(sent.requestId)
      else node.wallets.settled(sent.requestId)
    }
    for (const { sent, answer } of heard) {
      if (sent.kind === 'settle' || answer === undefined) continue
      if (sent.kind === 'release') node.wallets.released(sent.release, answer)
      else this.#hearAsk(node, sent, answer)
    }
  }

  #hearAsk(node: Node, { ask, requestId }: Extract<Sent, { kind: 'ask' }>, answer: LeaseAnswer | 'unavailable'): void {
    node.wallets.answered(ask, answer, 0)
    const isHeld = node.wallets.holds().some((hold) => hold.requestId === requestId)
    const verdict = answer === 'unavailable' || ask.number <= node.forgotten ? 'unavailable' : answer.verdict
    if (isHeld !== (verdict === 'granted')) throw new Error(`${requestId} was ${verdict} and is ${isHeld ? '' : 'not '}held`)
    if (isHeld) this.#runningOf(node).push({ requestId, key: ask.keyNumber, amount: ask.amountPicos })
    this.#answers.set(requestId, isHeld ? 'held' : verdict === 'exhausted' || verdict === 'unavailable' ? verdict : 'reserved')
    this.#noteEnd(node, ask.keyNumber)
  }

  #end(node: Node, index: number, how: (amount: bigint) => 'void' | Readonly<{ cost: bigint; fails: boolean }>): void {
    const running = this.#runningOf(node)
    const [ended] = running.splice(index % Math.max(1, running.length), 1)
    if (ended === undefined) return
    const { requestId, key, amount } = ended
    const end = how(amount)
    if (end === 'void') node.wallets.void(requestId)
    else {
      node.wallets.settle(settlement(requestId, {}, { costPicos: picos(end.cost) }))
      if (!end.fails) this.#unapplied.set(requestId, { key, amount: end.cost })
      node.outbox.push({ kind: 'settle', requestId, key, ...end })
    }
    this.#noteEnd(node, key)
  }

  #noteEnd(node: Node, key: number): void {
    const release = node.wallets.releaseOf(`key_${key}`)
    if (release !== undefined) this.#send(node, [release])
  }

  #send(node: Node, releases: readonly LeaseMove[]): void {
    for (const release of releases) {
      node.lastMove = release.number
      node.outbox.push({ kind: 'release', release })
    }
  }

  /** It is taken over: what ran there is waived, and whoever comes after it has nothing. */
  #expire(node: Node): void {
    for (const sent of node.outbox) if (sent.kind === 'settle') this.#unapplied.delete(sent.requestId)
    this.#database.expire(node.lane)
    this.#running.delete(node)
    Object.assign(node, this.#makeNode(node.lane))
  }

  /** The same process is another node: what ran is waived, its memory stays. */
  #rejoin(node: Node): void {
    this.#database.expire(node.lane)
    for (const { requestId } of this.#runningOf(node)) node.wallets.void(requestId)
    this.#running.delete(node)
    for (const sent of node.outbox) {
      if (sent.kind !== 'settle') continue
      this.#unapplied.delete(sent.requestId)
      node.wallets.settled(sent.requestId)
    }
    node.outbox = node.outbox.filter(({ kind }) => kind !== 'settle')
    node.moves = []
    this.#forget(node)
  }

  #forget(node: Node): void {
    node.wallets.forgetLeases()
    node.forgotten = node.lastMove
  }

  #makeNode(lane: number): Node {
    const wallets = new Wallets()
    for (let key = 1; key <= this.#setting.limits.length; key++) wallets.keys.load(this.#stateOf(key))
    return { lane, wallets, outbox: [], inbox: [], moves: [], applied: new Set(), lastMove: 0, forgotten: 0 }
  }

  #stateOf(key: number): KeyState {
    const account = this.#accountOf(key)
    const limit = this.#setting.limits[key - 1] ?? null
    return {
      keyId: `key_${key}`,
      keyNumber: key,
      accountId: `acc_${account}`,
      accountNumber: account,
      isActive: true,
      isAccountActive: true,
      plan: 'default',
      expiresAt: null,
      limitPicos: limit === null ? null : picos(limit),
      spentPicos: picos(limit === null ? 0n : limit - (this.#database.leftOf(key) ?? 0n)),
      balancePicos: picos(this.#database.balanceOf(account)),
      lastSyncedAt: 0,
      toppedUpAt: null,
    }
  }

  #expectNothing(what: 'account' | 'key', number: number): void {
    const left = this.#database.leasesOf(what, number).filter(({ amount }) => amount !== 0n)
    if (left.length > 0) throw new Error(`${what} ${number}: ${left.map(({ lane, amount }) => `lane ${lane} kept ${amount}`).join(', ')}`)
  }

  #accountOf(key: number): number {
    return 1 + ((key - 1) % this.#setting.balances.length)
  }

  #node(index: number): Node {
    const found = this.#nodes[index % this.#nodes.length]
    if (found === undefined) throw new Error(`no node ${index}`)
    return found
  }

  #runningOf(node: Node): Running[] {
    const running = this.#running.get(node) ?? []
    this.#running.set(node, running)
    return running
  }
}

const moveOf = (sent: Sent): LeaseAsk | LeaseMove | undefined =>
  sent.kind === 'ask' ? sent.ask : sent.kind === 'release' ? sent.release : undefined
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
