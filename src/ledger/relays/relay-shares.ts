/** What a relay asks the ledger process for apart from the money, and what it has got, which it tells when it joins again. Rules: processes.md "Shared". */

import type { Patience } from '../admission/patience.ts'
import type {
  AnswerElsewhere,
  FollowAsk,
  FollowReply,
  FollowTold,
  FoundElsewhere,
  KeptElsewhere,
  Repeatable,
  SharedClaims,
} from '../shared-answers.ts'
import type { LimitAsk, LimitGrant, SharedLimits } from '../shared-limits.ts'
import type { RateAnswer, RateAsk, RateCorrection, RateOwner, SharedRates } from '../shared-rates.ts'
import type { Followed } from './follow-routes.ts'
import type { RelayLink } from './link.ts'
import type { Running } from './shared-claims.ts'
import type { Held } from './shared-state.ts'

type Around = Readonly<{
  link: () => Pick<RelayLink, 'ask' | 'tell'>
  patience: Pick<Patience, 'whileHeard'>
  onBug: (bug: unknown) => void
}>

/** Takes parts of keys' limits; a place is held from the grant on. */
export class LimitsOverLink implements SharedLimits {
  readonly #around: Around
  readonly #places = new Map<string, number>()

  constructor(around: Around) {
    this.#around = around
  }

  get places(): Held['places'] {
    return [...this.#places]
  }

  async take(ask: LimitAsk): Promise<LimitGrant | 'unavailable'> {
    const { link, patience } = this.#around
    const grant = (await patience.whileHeard(link().ask({ kind: 'limit', ask }))) as LimitGrant | 'unavailable'
    if (grant === 'unavailable') return grant
    if (grant.places > 0) this.#places.set(ask.keyId, grant.places)
    else this.#places.delete(ask.keyId)
    return grant
  }
}

/** Takes parts of what the client at an address may do; nothing of it is held. */
export const clientLimitsOverLink = ({ link, patience }: Around): SharedLimits => ({
  take: async (ask) => (await patience.whileHeard(link().ask({ kind: 'clientLimit', ask }))) as LimitGrant | 'unavailable',
})

/** Counts requests in the rates of plans and keys; how many run is what was said last. */
export class RatesOverLink implements SharedRates {
  readonly #around: Around
  readonly #running = new Map<string, number>()

  constructor(around: Around) {
    this.#around = around
  }

  get running(): Held['running'] {
    return [...this.#running]
  }

  async take(ask: RateAsk): Promise<RateAnswer | 'unavailable'> {
    for (const owner of ask.owners) this.#note(owner)
    const { link, patience } = this.#around
    return (await patience.whileHeard(link().ask({ kind: 'rate', ask }))) as RateAnswer | 'unavailable'
  }

  async correct(corrections: readonly RateCorrection[], number: number): Promise<'done' | 'unavailable'> {
    for (const { owner } of corrections) this.#note(owner)
    const { link, patience } = this.#around
    const corrected = await patience.whileHeard(link().ask({ kind: 'correct', corrections, number }))
    return corrected === 'unavailable' ? corrected : 'done'
  }

  #note({ name, running }: RateOwner): void {
    if (running > 0) this.#running.set(name, running)
    else this.#running.delete(name)
  }
}

export class ClaimsOverLink implements SharedClaims {
  readonly #around: Around
  readonly #running = new Map<string, Running>()
  #tell: ((ask: FollowAsk) => FollowTold | Promise<FollowTold>) | undefined

  constructor(around: Around) {
    this.#around = around
  }

  get running(): readonly Running[] {
    return [...this.#running.values()]
  }

  async claim({ keyId, headerHash, bodyHash }: Repeatable): ReturnType<SharedClaims['claim']> {
    const { link, patience } = this.#around
    const claim = { keyId, header: hex(headerHash), body: hex(bodyHash) }
    // A claim that succeeds after its request was told `unavailable` is released, because the request does not use it any more.
    const asked = link().ask({ kind: 'claim', claim })
    const found = (await patience.whileHeard(asked, (late) => isClaimed(late) && this.#tellRelease(claim))) as
      | Awaited<ReturnType<SharedClaims['claim']>>
      | 'unavailable'
    if (found === 'unavailable') return { kind: found }
    if (found.kind === 'claimed') this.#running.set(nameOf(claim), claim)
    return found
  }

  async isRunning({ keyId, headerHash }: Omit<Repeatable, 'bodyHash'>): Promise<boolean> {
    const { link, patience } = this.#around
    return (await patience.whileHeard(link().ask({ kind: 'running', keyId, header: hex(headerHash) }))) !== false
  }

  /** The claim counts as held until its end is told: a relay that joins again before that says that it runs. */
  release({ keyId, headerHash }: Omit<Repeatable, 'bodyHash'>): void {
    const ended = { keyId, header: hex(headerHash) }
    const name = nameOf(ended)
    if (this.#running.has(name)) this.#tellRelease(ended, () => void this.#running.delete(name))
  }

  async follow({ keyId, headerHash, bodyHash }: Repeatable, asked: Parameters<SharedClaims['follow']>[1]): Promise<FollowReply> {
    const { link, patience } = this.#around
    const ask = { ...asked, keyId, header: hex(headerHash), body: hex(bodyHash) }
    return (await patience.whileHeard(link().ask({ kind: 'follow', ask }))) as FollowReply
  }

  onFollow(tell: (ask: FollowAsk) => FollowTold | Promise<FollowTold>): void {
    this.#tell = tell
  }

  /** To be called when another relay asks about a stream of this one; until it is answered, only the other one's clients wait. */
  hear({ name, ask }: Followed): void {
    const { link, onBug } = this.#around
    const tell = this.#tell
    if (tell !== undefined) Promise.try(() => tell(ask)).then((told) => link().tell({ kind: 'told', name, told }), onBug)
  }

  #tellRelease({ keyId, header }: Omit<Running, 'body'>, onSent?: () => void): void {
    this.#around.link().tell({ kind: 'release', keyId, header }, onSent)
  }
}

/** Answers and claims go over the same socket, so that an answer is kept before its claim ends. */
export const keptOverLink = ({ link, patience }: Around): KeptElsewhere => ({
  keep: (answer: AnswerElsewhere) => link().tell({ kind: 'keep', answer, isUnwritten: false }),
  keepUnwritten: (answer: AnswerElsewhere) => link().tell({ kind: 'keep', answer, isUnwritten: true }),
  find: async (key, ...ids) =>
    (await patience.whileHeard(link().ask({ kind: 'find', key, ids }))) as Awaited<ReturnType<KeptElsewhere['find']>> & FoundElsewhere,
})

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex')
const nameOf = ({ keyId, header }: Omit<Running, 'body'>): string => `${keyId} ${header}`
const isClaimed = (late: unknown): boolean => typeof late === 'object' && late !== null && 'kind' in late && late.kind === 'claimed'
