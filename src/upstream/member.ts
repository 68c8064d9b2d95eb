/** One upstream in the pool, and what is known of how it does: its slots, and for each model its breaker and its pace. Rules: pool.md "Breaker", "Overload". */

import { Breaker, type BreakerState } from './breaker.ts'
import type { Candidate } from './choice.ts'
import { Pace } from './pace.ts'
import { Turns } from './turns.ts'
import type { Upstream } from './upstream.ts'

export type MemberConfig = Readonly<{ name: string; priority: number; weight: number; maxConcurrent: number; upstream: Upstream }>

/** How one upstream does for one model. */
export type Line = Readonly<{ model: string; breaker: Breaker; pace: Pace }> & {
  /** Its address swallowed a call's whole time to connect: even where there is no other, no request waits for it again before a probe has come through. */
  isSilent: boolean
}

/** Models that are asked for are those of the catalogue, but a reload may bring others for ever. */
const LINES_MAX = 1_000

export class Member {
  config: MemberConfig
  /** Taken out by an operator: what runs ends, nothing new begins. */
  isOut = false
  readonly turns = new Turns(() => this.config.maxConcurrent)
  readonly #lines = new Map<string, Line>()
  readonly #random: () => number

  constructor(config: MemberConfig, random: () => number) {
    this.config = config
    this.#random = random
  }

  get name(): string {
    return this.config.name
  }

  line(model: string): Line {
    const known = this.#lines.get(model)
    if (known !== undefined) return known
    if (this.#lines.size >= LINES_MAX) this.#lines.clear()
    const line = { model, breaker: new Breaker(this.#random), pace: new Pace(), isSilent: false }
    this.#lines.set(model, line)
    return line
  }

  lines(): readonly Line[] {
    return [...this.#lines.values()]
  }

  /** The worst of its models. */
  state(now: number): BreakerState {
    const states = this.lines().map(({ breaker }) => breaker.state(now))
    return states.find((state) => state === 'open') ?? states.find((state) => state === 'half-open') ?? 'closed'
  }
}

/** An upstream as a candidate for one call. */
export type Spot = Candidate & Readonly<{ member: Member; line: Line }>

export function spotOf(member: Member, model: string): Spot {
  const line = member.line(model)
  const { name, priority, weight } = member.config
  return {
    name,
    priority,
    weight: weight * line.pace.share(),
    inFlight: member.turns.running,
    firstEventMs: line.pace.firstEventMs,
    member,
    line,
  }
}
