/**
 * The life of one request, in order: read, admit, hold, call, answer, settle. Any step may refuse; a refusal becomes an answer in one place. A bug kills one
 * request: its hold is released and the client gets a 500. Rules: keys.md "Order of checks"; house.md "One request".
 */

import type { Call, Format } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { holdFor } from '../core/pricing.ts'
import { insufficientBalance, Refusal } from '../core/refusal.ts'
import type { HoldAnswer } from '../ledger/ledger.ts'
import { describeBug } from '../observe/bug.ts'
import type { World } from '../world.ts'
import type { Admitted, Grant, RelayParts } from './admitted.ts'
import type { FinishedAnswer } from './answer-memory.ts'
import type { BodyLease } from './body-memory.ts'
import { countTokens } from './count-tokens.ts'
import { type Connection, Exchange, ownerOf } from './exchange.ts'
import { type Claim, type ClaimParts, claimAnswer, namesItself, replay } from './idempotency.ts'
import type { Slot } from './key-limits.ts'
import { readBody } from './read-body.ts'
import { readCall } from './read-call.ts'
import { refuseAfterBody } from './refuse-after-body.ts'
import type { Held } from './settle.ts'
import { answerStream } from './stream-start.ts'
import { answerWhole } from './whole.ts'

export class Relay {
  readonly #parts: RelayParts
  readonly #claimParts: ClaimParts
  #running = 0
  #idle: PromiseWithResolvers<void> | undefined
  readonly #onEnd = (): void => this.#ended()

  constructor(parts: RelayParts) {
    this.#parts = parts
    const { world, answers, shared } = parts
    this.#claimParts = { ledger: world.ledger, answers, now: world.clock.now, shared }
  }

  /** Requests and streams that have not ended. */
  get running(): number {
    return this.#running
  }

  /** Answers one model request. Never rejects. `identified` is the key, or why there is none. */
  async answer<Echo>(
    format: Format<Echo>,
    route: string,
    request: Request,
    identified: KeyRecord | Refusal,
    connection: Connection,
  ): Promise<Response> {
    const { world } = this.#parts
    const exchange = new Exchange(world, route, format.name)
    connection.keepOpen()
    this.#running++
    try {
      return await this.#answer(format, request, identified, connection, exchange)
    } catch (error) {
      world.log.alarm('a request failed by a bug', { request_id: exchange.requestId, ...describeBug(error) })
      world.ledger.void(exchange.requestId)
      connection.restore()
      return exchange.refuse(new Refusal('internal'), connection.origin)
    } finally {
      this.#ended()
    }
  }

  /** Counts the tokens of one request: nothing is held, nothing is billed. Never rejects by what a client or an upstream sends. */
  countTokens(request: Request, identified: KeyRecord | Refusal, connection: Connection): Promise<Response> {
    return countTokens(this.#parts, request, identified, connection)
  }

  /** Waits for what a shutdown must not cut off: requests without a stream, also those whose client has left. */
  async whenIdle(): Promise<void> {
    while (this.#running > 0) {
      this.#idle ??= Promise.withResolvers()
      await this.#idle.promise
    }
  }

  #ended(): void {
    this.#running--
    if (this.#running > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  async #answer<Echo>(
    format: Format<Echo>,
    request: Request,
    identified: KeyRecord | Refusal,
    connection: Connection,
    exchange: Exchange,
  ): Promise<Response> {
    const grant = await this.#admit(format, request, identified, exchange)
    if (grant instanceof Refusal) {
      const response = await refuseAfterBody(request, () =>
        exchange.refuse(grant, connection.origin, ownerOf(identified, connection.client)),
      )
      connection.restore()
      return response
    }
    if ('kind' in grant) {
      exchange.end({ status: grant.head.status, replayOf: grant.head.requestId, ...ownerOf(identified, connection.client) })
      connection.restore()
      return replay(grant, this.#parts.world.corsOrigins(), connection.origin)
    }
    const { call, held, lease, claim, release } = grant
    const admitted: Admitted<Echo> = { parts: this.#parts, format, request, connection, exchange, call, held, lease, claim, release }
    try {
      if (!call.isStream) return await answerWhole(admitted)
      return await this.#stream(admitted)
    } catch (error) {
      release()
      connection.restore()
      throw error
    }
  }

  /** It runs on behind its response. */
  async #stream<Echo>(admitted: Admitted<Echo>): Promise<Response> {
    const { response, whenEnded } = await answerStream(admitted)
    this.#running++
    // Not closures of this function: they would hold the request, its body too, for as long as the stream runs.
    whenEnded.then(this.#onEnd, this.#onEnd)
    return response
  }

  async #admit<Echo>(
    format: Format<Echo>,
    request: Request,
    key: KeyRecord | Refusal,
    exchange: Exchange,
  ): Promise<Grant<Echo> | FinishedAnswer | Refusal> {
    const { world, keyLimits, bodies } = this.#parts
    if (key instanceof Refusal) return key
    if (world.isDraining()) return new Refusal('draining')
    if (!world.ledger.isWritable()) return new Refusal('storageUnavailable')
    const admitting = keyLimits.admit(key.id)
    const slot = admitting instanceof Promise ? await admitting : admitting
    if (slot instanceof Refusal) return slot
    const lease = bodies.lease(key)
    const taken: Taken = { slot, lease, claim: undefined }
    const release = releasing(taken)
    const giveUp = <Answer>(answer: Answer): Answer => {
      release()
      return answer
    }
    try {
      const bytes = await readBody(request, world, world.limits(), lease)
      if (bytes instanceof Refusal) return giveUp(bytes)
      const claimed = namesItself(request) ? await claimAnswer(this.#claimParts, key, request, bytes) : undefined
      if (claimed instanceof Refusal || (claimed !== undefined && 'kind' in claimed)) return giveUp(claimed)
      taken.claim = claimed
      const reading = readCall(format.name, { parts: this.#parts, request, key, lease }, bytes)
      const call = reading instanceof Promise ? await reading : reading
      if (call instanceof Refusal) return giveUp(call)
      const holding = this.#hold(format, call as Call<Echo>, key, exchange, claimed)
      const held = holding instanceof Promise ? await holding : holding
      return held instanceof Refusal ? giveUp(held) : { call: call as Call<Echo>, held, lease, claim: claimed, release }
    } catch (error) {
      release()
      throw error
    }
  }

  #hold<Echo>(
    format: Format<Echo>,
    call: Call<Echo>,
    key: KeyRecord,
    exchange: Exchange,
    claim: Claim | undefined,
  ): Held | Refusal | Promise<Held | Refusal> {
    const { world } = this.#parts
    const { rates, contextWindow, id: modelId } = call.model
    const held: Held = {
      key,
      modelId,
      isStream: call.isStream,
      sessionHash: sessionHashOf(key.accountId, call.routing.conversation),
      idempotency: claim?.idempotency,
      bounds: call.bounds,
      rates,
      amountPicos: holdFor(call.bounds, rates, contextWindow),
    }
    if (world.isDraining()) return new Refusal('draining')
    const answer = world.ledger.hold({
      requestId: exchange.requestId,
      keyId: key.id,
      modelId,
      format: format.name,
      isStream: call.isStream,
      rates,
      amountPicos: held.amountPicos,
      now: world.clock.now(),
    })
    return answer instanceof Promise ? answer.then((given) => holdRefusal(given, world) ?? held) : (holdRefusal(answer, world) ?? held)
  }
}

type Taken = { readonly slot: Slot; readonly lease: BodyLease; claim: Claim | undefined }

/** Apart: made where the body is read it would hold all that is there for as long as a stream runs. */
const releasing = (taken: Taken) => (): void => {
  taken.slot.release()
  taken.lease.release()
  taken.claim?.answer.drop()
}

/** The salt keeps accounts apart: nobody steers another's conversations, or finds them by their words. Rules: pool.md "Affinity". */
const sessionHashOf = (accountId: string, conversation: string): Uint8Array => hashOf(`${accountId}\n${conversation}`)

/** In one call, into bytes of ours: a hasher that is fed and read costs thirty times as much. */
const hashOf = (text: string): Uint8Array => Bun.SHA256.hash(text, new Uint8Array(32)) as Uint8Array

function holdRefusal(answer: HoldAnswer, { dashboardUrl }: Pick<World, 'dashboardUrl'>): Refusal | undefined {
  switch (answer) {
    case 'held':
      return undefined
    case 'exhausted':
      return insufficientBalance(dashboardUrl())
    case 'reserved':
      return new Refusal('balanceHeld', { retryAfterSeconds: 1 })
    case 'disabled':
      return new Refusal('keyDisabled')
    case 'expired':
      return new Refusal('keyExpired')
    case 'unavailable':
      return new Refusal('storageUnavailable')
  }
}
