/**
 * The life of one request, in order: read, admit, hold, call, answer, settle. Any step may refuse; a refusal becomes an answer in one place. A bug kills one
 * request: its hold is released and the client gets a 500. Rules: architecture.md "A request"; keys.md "Order of checks"; house.md "One request".
 */

import type { Format } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { describeBug } from '../observe/bug.ts'
import { admit } from './admit.ts'
import type { Admitted, RelayParts } from './admitted.ts'
import { countTokens } from './count-tokens.ts'
import { type Connection, Exchange, ownerOf } from './exchange.ts'
import { refuseAfterBody } from './refuse-after-body.ts'
import { answerRepetition } from './repetition.ts'
import { answerStream } from './stream-start.ts'
import { answerWhole } from './whole.ts'

export class Relay {
  readonly #parts: RelayParts
  readonly #onEachEnd: () => void
  #running = 0
  #idle: PromiseWithResolvers<void> | undefined
  readonly #onEnd = (): void => this.#ended()

  /** `onEachEnd`: called at the end of each request or stream. */
  constructor(parts: RelayParts, onEachEnd: () => void = () => undefined) {
    this.#parts = parts
    this.#onEachEnd = onEachEnd
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

  /** Waits for requests that a shutdown must not cut off: those without a stream, also where the client has left. */
  async whenIdle(): Promise<void> {
    while (this.#running > 0) {
      this.#idle ??= Promise.withResolvers()
      await this.#idle.promise
    }
  }

  #ended(): void {
    this.#running--
    this.#onEachEnd()
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
    const parts = this.#parts
    if (!(identified instanceof Refusal)) exchange.tellRates(ratesTold(parts, identified))
    const grant = await admit({ parts, format, request, exchange }, identified)
    if (grant instanceof Refusal) {
      const response = await refuseAfterBody(request, () =>
        exchange.refuse(grant, connection.origin, ownerOf(identified, connection.client)),
      )
      connection.restore()
      return response
    }
    if ('kind' in grant) return this.#stays(await answerRepetition({ parts, request, connection, exchange }, grant))
    const admitted: Admitted<Echo> = { ...grant, parts, format, request, connection, exchange }
    try {
      if (!grant.call.isStream) return await answerWhole(admitted)
      return this.#stays(await answerStream(admitted))
    } catch (error) {
      grant.release()
      connection.restore()
      throw error
    }
  }

  /** Counts a stream as running until it has ended, which is later than its response. */
  #stays({ response, whenEnded }: Readonly<{ response: Response; whenEnded?: Promise<void> }>): Response {
    if (whenEnded === undefined) return response
    this.#running++
    // The listeners are not closures of this function, which would hold the request, its body too, for as long as the stream runs.
    whenEnded.then(this.#onEnd, this.#onEnd)
    return response
  }
}

/** A function of its own: a closure made where the request is answered would hold its body for as long as a stream runs. */
const ratesTold =
  ({ rates }: RelayParts, key: KeyRecord) =>
  (): Record<string, string> =>
    rates.headers(key)
