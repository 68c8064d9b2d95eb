/**
 * Requests with an Idempotency-Key in the simulated world of relays: the product's own relay, from the request to the bytes of its answer, at each of them; clients that ask, repeat, read slowly and
 * leave; upstreams that speak piece by piece, fail and break. The world lets relays and the ledger process die and stand still beneath them. Rules: requests.md "Joined answers", "Repeated requests";
 * processes.md "Shared", "Death".
 */

import type { Config } from '../../src/config/config.ts'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import type { OpenedLedger } from '../../src/ledger/open-options.ts'
import { type RelayOfGateway, relayOfGateway } from '../../src/relay-of-gateway.ts'
import type { World } from '../../src/world.ts'
import { makeTestWorld } from '../support/world.ts'
import { Finding, must } from './books.ts'
import { pick } from './draw.ts'
import { type Client, type How, StreamClients } from './stream-clients.ts'
import { type Around, type Host, STREAM_KEY } from './stream-parts.ts'
import { StreamUpstreams } from './stream-upstreams.ts'

type Gateway = RelayOfGateway & Readonly<{ wheel: TimerWheel }>

/** So few that a place which is not given back is missed. */
const AT_ONCE = 4
const LIMITS = { concurrentRequests: AT_ONCE, requestsPerMinute: 1_000_000 }
/** A client repeats one of so many last requests. */
const RECENT = 3
const CLIENTS_MAX = 12
/** Longer than a relay keeps places that it does not use. */
const GIVEN_BACK_MS = 5_000
/** A clock that steps further may make uses of headers expire. */
const EXPIRING_MS = 10 * 3_600_000
/** Enough for a world that still has to connect when its end begins. */
const ROUNDS_MAX = 40

export class RepeatedStreams {
  readonly #around: Around
  readonly #test = makeTestWorld({ limits: LIMITS })
  readonly #gateways = new Map<Host, Gateway>()
  readonly #clients: StreamClients
  readonly #upstreams: StreamUpstreams
  #names: string[] = []
  #named = 0
  #finding: unknown

  /** Takes the process's class of streams over until `restore`. */
  constructor(around: Around) {
    this.#around = around
    const fail = (finding: unknown): void => {
      this.#finding ??= finding
    }
    this.#clients = new StreamClients({ ...around, fail })
    this.#upstreams = new StreamUpstreams({ ...around, fail })
  }

  restore(): void {
    for (const { keyLimits } of this.#gateways.values()) close(keyLimits)
    this.#clients.restore()
  }

  serve(host: Host, opened: OpenedLedger): void {
    const wheel = new TimerWheel()
    const world: World = {
      ...this.#test.world,
      clock: { now: this.#around.time.now, monotonicMs: () => performance.now() },
      ...{ wheel, ledger: opened.ledger, isRelay: () => true, requestId: () => this.#clients.idOfAsking() },
      upstreams: { droppedPaths: () => [], call: (asked, options) => this.#upstreams.call(host, asked, options) },
    }
    const startThread = (): Worker => {
      throw new Error('no body is heavy, and no answer has a file')
    }
    const config = { limits: world.limits() } as Config
    const gateway = relayOfGateway(world, opened, { config, startBodyThread: startThread, startAnswersThread: startThread })
    this.#gateways.set(host, { ...gateway, wheel })
  }

  /** The relay is gone with what it had. */
  died(host: Host): void {
    close(this.#gateways.get(host)?.keyLimits)
    this.#gateways.delete(host)
    this.#upstreams.died(host)
    this.#clients.died(host)
  }

  /** To be called when the relay stands still for longer than the ledger process waits for it. */
  stoodStill(host: Host): void {
    this.#upstreams.stoodStill(host)
  }

  clockStepped(ms: number): void {
    if (Math.abs(ms) > EXPIRING_MS) this.#names = []
  }

  /** The wheels of the relays turn. */
  turn(): void {
    for (const [host, { wheel }] of this.#gateways) if (!host.isStopped) wheel.turn(performance.now())
  }

  step(): void {
    const choice = this.#around.random()
    if (choice < 0.3) this.#askAny()
    else if (choice < 0.86) this.#upstreams.speak()
    else if (choice < 0.91) this.#clients.leave()
    else this.#clients.drain()
  }

  /** `receipts`: what each request cost that has one. `mayBeSpilled`: ends may be kept apart from the ledger for now. */
  check(receipts: ReadonlyMap<string, bigint>, mayBeSpilled: boolean): void {
    if (this.#finding !== undefined) throw this.#finding
    const { all } = this.#clients
    const bug = this.#test.logLines().find(({ alarm }) => String(alarm).includes('bug'))
    must('nothing fails by a bug', bug === undefined, () => JSON.stringify(bug))
    const charged = all.filter(({ id }) => (receipts.get(id) ?? 0n) > 0n)
    if (charged.some(({ status, state }) => state === 'refused' && status === 503))
      this.#around.meet('a request that was told it failed is charged')
    for (const [name, of] of Map.groupBy(charged, (client) => client.name))
      must('a request that is repeated is charged once', of.length === 1, () => `${name}: ${of.map(({ id }) => id).join(' ')}`)
    const unpaid = all.find((client) => client.state === 'whole' && !isError(client.text) && !receipts.has(client.of))
    must('an answer that a client has whole is booked', mayBeSpilled || unpaid === undefined, () => `${unpaid?.id} of ${unpaid?.of}`)
    const mistaken = all.find((client) => client.isReplayed && !this.#isOfSame(client))
    const told = (): string => `${mistaken?.id} of ${mistaken?.name} got ${mistaken?.of}`
    must('an answer is given again to its own request', mistaken === undefined, told)
  }

  /** All that runs comes to its end. What is left of it then: each header is free or has its answer, each place is free, and nothing is claimed. */
  async end(quiet: () => Promise<void>, receiptsOf: () => ReadonlyMap<string, bigint>): Promise<void> {
    const { time } = this.#around
    await this.#finish(quiet)
    const wasUsed = receiptsOf()
    for (const name of this.#names.slice(-RECENT)) {
      const again = this.#ask(this.#anyHost(), name)
      await this.#finish(quiet)
      const isGone = again.status === 400 && this.#clients.all.some((first) => first.name === name && wasUsed.has(first.id))
      const told = (): string => `${name}: ${again.status} ${again.text}`
      must('a header is free or has its answer when all has ended', again.status === 200 || isGone, told)
    }
    // Relays give places back that they do not need any more.
    for (const untilMs = time.now() + GIVEN_BACK_MS; time.now() < untilMs; ) await quiet()
    await this.#checkPlaces(quiet)
  }

  async #checkPlaces(quiet: () => Promise<void>): Promise<void> {
    const host = this.#anyHost()
    const many = Array.from({ length: AT_ONCE }, () => this.#ask(host, this.#newName()))
    await this.#finish(quiet)
    const refused = many.find(({ status }) => status !== 200)
    must('all places of a key are free when all has ended', refused === undefined, () => `${refused?.status} by ${host.pid}`)
    for (const [{ pid, claims, limits }, { keyLimits }] of this.#gateways) {
      const running = keyLimits.running(STREAM_KEY.id)
      const claimed = claims.running.filter(({ keyId }) => keyId === STREAM_KEY.id).length
      const places = limits.places.find(([keyId]) => keyId === STREAM_KEY.id)?.[1] ?? 0
      const told = (): string => `${pid}: ${running} run, ${claimed} claimed, ${places} places`
      must('nothing is held when all has ended', running + claimed + places === 0, told)
    }
  }

  async #finish(quiet: () => Promise<void>): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && (round < 2 || this.#isBusy); round++) {
      this.#clients.drainAll()
      this.#upstreams.speakOut()
      await quiet()
    }
    const [left] = this.#clients.open
    const told = (): string => `${left?.id} of ${left?.name} by ${left?.host.pid} ${left?.state} ${left?.of}`
    must('every client has its end when all is quiet', left === undefined, told)
    if (this.#finding !== undefined) throw this.#finding
  }

  get #isBusy(): boolean {
    return this.#clients.open.length > 0 || this.#upstreams.isBusy
  }

  #askAny(): void {
    const { random } = this.#around
    const host = pick(
      random,
      [...this.#gateways.keys()].filter(({ isStopped }) => !isStopped),
    )
    if (host === undefined || this.#clients.open.length >= CLIENTS_MAX) return
    const name = random() < 0.25 ? undefined : pick(random, this.#names.slice(-RECENT))
    this.#ask(host, name ?? this.#newName(), { isOther: random() < 0.03, isSlow: random() < 0.15 })
  }

  #ask(host: Host, name: string, how: How = {}): Client {
    return this.#clients.ask(host, this.#gateways.get(host)?.relay, name, how)
  }

  #newName(): string {
    const name = `${this.#around.random() < 0.8 ? 'stream' : 'whole'}-${++this.#named}`
    this.#names.push(name)
    return name
  }

  #anyHost(): Host {
    const host = pick(this.#around.random, [...this.#gateways.keys()])
    if (host === undefined) throw new Finding('a relay lives')
    return host
  }

  #isOfSame({ of, name, isOther }: Client): boolean {
    return this.#clients.all.some((first) => first.id === of && first.name === name && first.isOther === isOther)
  }
}

const isError = (text: string): boolean => text.includes('event: error\n')

function close(keyLimits: RelayOfGateway['keyLimits'] | undefined): void {
  if (keyLimits !== undefined && 'close' in keyLimits) keyLimits.close()
}
