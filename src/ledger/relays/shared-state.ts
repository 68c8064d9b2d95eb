/**
 * What relays share apart from the money, in the memory of the ledger process: the limits of keys, the rates of plans, the requests that run under an Idempotency-Key, and the answers that are
 * kept. Rules: processes.md "Shared".
 */

import type { Forgotten } from '../../core/format.ts'
import { CountedRates } from '../counted-rates.ts'
import type { AnswerElsewhere, FollowAsk, FollowReply, FollowTold, FoundElsewhere, KeptElsewhere } from '../shared-answers.ts'
import type { LimitAsk, LimitGrant } from '../shared-limits.ts'
import type { RateAnswer, RateAsk, RateCorrection } from '../shared-rates.ts'
import { FollowRoutes } from './follow-routes.ts'
import { SentBytes, type SentTold, type SentWord } from './sent-bytes.ts'
import { RelayClaims, type Running } from './shared-claims.ts'
import { RelayLimits } from './shared-limits.ts'

/** A message of a relay that is answered. */
export type Question =
  | Readonly<{ kind: 'limit'; ask: LimitAsk }>
  /** By the address of a client, not by a key. */
  | Readonly<{ kind: 'clientLimit'; ask: LimitAsk }>
  | Readonly<{ kind: 'rate'; ask: RateAsk }>
  | Readonly<{ kind: 'correct'; corrections: readonly RateCorrection[]; number: number }>
  | Readonly<{ kind: 'claim'; claim: Running }>
  | Readonly<{ kind: 'running'; keyId: string; header: string }>
  | Readonly<{ kind: 'follow'; ask: FollowAsk }>
  | Readonly<{ kind: 'find'; key: Uint8Array; ids: readonly string[] }>

export type Reply =
  | LimitGrant
  | RateAnswer
  | 'done'
  /** claimed: the request has the claim. `isSame`: the request that runs has the same body. */
  | Readonly<{ kind: 'claimed' }>
  | Readonly<{ kind: 'running'; isSame: boolean }>
  | boolean
  | FollowReply
  | FoundElsewhere
  | Forgotten
  | 'unavailable'

/** A message of a relay that is not answered. */
export type Word =
  | Readonly<{ kind: 'release'; keyId: string; header: string }>
  /** `isUnwritten`: the answer may not be written to a disk. */
  | Readonly<{ kind: 'keep'; answer: AnswerElsewhere; isUnwritten: boolean }>
  /** The answer to a question about a stream that runs here. */
  | Readonly<{ kind: 'told'; name: string; told: FollowTold }>
  | SentWord

/** What a relay has when it joins again. `places`: how many requests of each key it may run at once. `running`: how many of each owner of rates run. */
export type Held = Readonly<{
  claims: readonly Running[]
  places: readonly (readonly [keyId: string, places: number])[]
  running: readonly (readonly [owner: string, running: number])[]
}>

type Relays = Parameters<FollowRoutes['over']>[0] &
  Readonly<{ all(): readonly Readonly<{ boot: number | undefined; connection: { send(message: SentTold): void } | undefined }>[] }>

/** The shared state in the ledger process. */
export class SharedState {
  readonly #follows = new FollowRoutes()
  readonly #limits = new RelayLimits()
  readonly #clientLimits = new RelayLimits()
  readonly #sent = new SentBytes()
  #relays: Relays = { all: () => [], find: () => undefined, get: () => undefined }
  readonly #rates = new CountedRates()
  readonly #claims = new RelayClaims()
  readonly #kept: KeptElsewhere
  /** The boots of relays that are gone and whose ends may not be in the ledger yet. */
  readonly #gone = new Set<number>()

  constructor(kept: KeptElsewhere) {
    this.#kept = kept
  }

  over(relays: Relays): void {
    this.#relays = relays
    this.#follows.over(relays)
  }

  ask(boot: number, question: Question): Reply | Promise<Reply> {
    switch (question.kind) {
      case 'limit':
        return this.#limits.take(boot, question.ask)
      case 'clientLimit':
        return this.#clientLimits.take(boot, question.ask)
      case 'rate':
        return this.#rates.take(boot, question.ask)
      case 'correct':
        this.#rates.correct(boot, question.corrections, question.number)
        return 'done'
      case 'claim':
        return this.#claims.claim(boot, question.claim)
      case 'running':
        return this.#claims.isRunning(question.keyId, question.header)
      case 'follow':
        return this.#follows.ask(question.ask, this.#claims.ownerOf(question.ask))
      case 'find':
        return this.#kept.find(question.key, ...question.ids)
    }
  }

  hear(boot: number, word: Word): void {
    if (word.kind === 'release') this.#claims.release(boot, word.keyId, word.header)
    else if (word.kind === 'sent') this.#sent.hear(word, this.#relays.all())
    else if (word.kind === 'told') this.#follows.told(boot, word.name, word.told)
    else if (word.isUnwritten) this.#kept.keepUnwritten?.(word.answer)
    else this.#kept.keep(word.answer)
  }

  /** To be called when a relay joins, or joins again. */
  join(boot: number, { claims, places, running }: Held): void {
    this.#claims.join(boot, claims)
    this.#limits.join(boot, places)
    this.#clientLimits.join(boot, [])
    this.#rates.join(boot, running)
  }

  /** To be called when a relay is gone: everything that it had ends, but for its claims. */
  leave(boot: number): void {
    this.#limits.leave(boot)
    this.#clientLimits.leave(boot)
    this.#rates.leave(boot)
    this.#follows.leave(boot)
    this.#gone.add(boot)
  }

  /** Boots of relays that are gone, and whose claims have not ended. */
  gone(): readonly number[] {
    return [...this.#gone]
  }

  /** To be called when the ledger has all ends of a relay that is gone: until then a request that it may have charged would pass for a new one. */
  endClaims(boot: number): void {
    this.#gone.delete(boot)
    this.#claims.leave(boot)
  }
}
