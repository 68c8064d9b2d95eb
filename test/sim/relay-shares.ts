/** What simulated relays share apart from the money: places of a key, and requests of which only one may run at once, at whichever relay. Rules: processes.md "Shared"; requests.md "Repeated requests". */

import type { Repeatable } from '../../src/ledger/shared-answers.ts'
import { must } from './books.ts'
import { pick } from './draw.ts'
import type { RelayProcess } from './relay-process.ts'
import type { Around } from './stream-parts.ts'

/** So many requests with an Idempotency-Key every relay may be asked for. */
const REPEATABLES = 3
const repeatable = (name: number): Repeatable => ({ keyId: 'key_1', headerHash: Uint8Array.of(name), bodyHash: Uint8Array.of(name) })

/** `alive`: the relays that live. `fail`: notes a finding where no step of the simulation can throw it. */
type Parts = Pick<Around, 'random' | 'meet'> & Readonly<{ alive: () => readonly RelayProcess[]; fail: (finding: unknown) => void }>

export class RelayShares {
  readonly #parts: Parts
  /** The repeatable requests that run, by their names. */
  readonly #running = new Map<RelayProcess, Set<number>>()
  /** What was asked, and is not answered. */
  readonly #questions = new Set<Readonly<{ relay: RelayProcess }>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Asks for something, or ends what was got. */
  step(): void {
    const { random, alive } = this.#parts
    const relay = pick(random, alive())
    if (relay === undefined) return
    const choice = random()
    const name = Math.floor(random() * REPEATABLES)
    if (choice < 0.4) this.#answered(relay, relay.limits.take({ keyId: 'key_1', requests: 1, places: 2, perMinute: 6_000, atOnce: 4 }))
    else if (choice < 0.7) this.#answered(relay, this.#claim(relay, name))
    else if (this.#runningAt(relay).delete(name)) relay.claims.release(repeatable(name))
  }

  /** All that the relay runs ends. */
  drop(relay: RelayProcess): void {
    const running = this.#runningAt(relay)
    for (const name of running) relay.claims.release(repeatable(name))
    running.clear()
  }

  /** To be called when all is quiet: what no living relay runs may be claimed, and what one runs may not. */
  async checkEnd(quiet: () => Promise<void>): Promise<void> {
    const living = this.#parts.alive()
    const unanswered = [...this.#questions].filter(({ relay }) => relay.isAlive)
    must('every question is answered when all is quiet', unanswered.length === 0, () => unanswered.map(({ relay }) => relay.pid).join(' '))
    for (let name = 0; name < REPEATABLES; name++) {
      const isRunning = living.some((relay) => this.#runningAt(relay).has(name))
      let said: boolean | undefined
      living[0]?.claims.isRunning(repeatable(name)).then(
        (answer) => {
          said = answer
        },
        () => undefined,
      )
      for (let turn = 0; turn < 8 && said === undefined; turn++) await quiet()
      must('a claim lasts as long as its request', said === isRunning, () => `${name}: ${said}, and not ${isRunning}`)
    }
  }

  async #claim(relay: RelayProcess, name: number): Promise<void> {
    const { random, alive, meet } = this.#parts
    const found = await relay.claims.claim(repeatable(name))
    meet(`a claim is ${found.kind}`)
    if (found.kind !== 'claimed' || !relay.isAlive) return
    const others = alive().filter((one) => this.#runningAt(one).has(name))
    must('a repeatable request runs once', others.length === 0, () => `request ${name} by ${relay.pid} and ${others[0]?.pid}`)
    this.#runningAt(relay).add(name)
    // Another relay asks while it runs: otherwise few worlds would have two claims of one request.
    const other = pick(
      random,
      alive().filter((one) => one !== relay),
    )
    if (other !== undefined) this.#answered(other, this.#claim(other, name))
  }

  #answered(relay: RelayProcess, asked: Promise<unknown>): void {
    const question = { relay }
    this.#questions.add(question)
    asked.then(() => this.#questions.delete(question), this.#parts.fail)
  }

  #runningAt(relay: RelayProcess): Set<number> {
    const running = this.#running.get(relay) ?? new Set()
    this.#running.set(relay, running)
    return running
  }
}
