/**
 * One request from the outside: its id, its times, the fields of its log line, and the refusal that ends it without a stream. Rules: contract.md "Errors";
 * requests.md "Retry signals".
 */

import type { FormatName } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import { errorBody, errorHeaders, nativeErrorBody } from '../core/refusal-body.ts'
import type { RequestLine } from '../observe/request-line.ts'
import type { World } from '../world.ts'
import { answerHeaders } from './answer-headers.ts'
import { Calls } from './calls.ts'

/** The client that asks. `ip` is the key of the per-client limits: the address, a /64 for IPv6. */
type Caller = Readonly<{ ip: string }>

/** The client's side of a request, as the HTTP layer knows it. */
export type Connection = Readonly<{
  client: Caller
  origin: string | null
  /** Suspends the server's own idle limit while we answer; `restore` brings it back, so that idle keep-alive sockets are closed again. */
  keepOpen(): void
  restore(): void
  /** Closes the connection of a client that takes no bytes. */
  drop(): void
}>

/** The owner that a log line names: the key and its account, or the client where no key was known. */
export const ownerOf = (key: KeyRecord | Refusal | undefined, client: Caller): Pick<RequestLine, 'client' | 'keyId' | 'accountId'> =>
  key === undefined || key instanceof Refusal ? { client: client.ip } : { keyId: key.id, accountId: key.accountId }

export class Exchange {
  readonly requestId: string
  readonly startedAt: number
  /** The calls of upstreams that this request has made. */
  readonly calls = new Calls()
  readonly #startedMonotonicMs: number
  readonly #world: World
  readonly #route: string
  readonly #format: FormatName | undefined
  #rates: (() => Record<string, string>) | undefined
  #firstByteMs: number | undefined
  #isEnded = false

  constructor(world: World, route: string, format?: FormatName) {
    this.#world = world
    this.requestId = world.requestId()
    this.startedAt = world.clock.now()
    this.#startedMonotonicMs = world.clock.monotonicMs()
    this.#route = route
    this.#format = format
  }

  get elapsedMs(): number {
    return Math.round(this.#world.clock.monotonicMs() - this.#startedMonotonicMs)
  }

  get firstByteMs(): number | null {
    return this.#firstByteMs ?? null
  }

  /** Lets every answer say how the rates of its key stand when it goes out. */
  tellRates(rates: () => Record<string, string>): void {
    this.#rates = rates
  }

  /** Notes that the first content byte is on its way to the client. */
  noteFirstByte(): void {
    this.#firstByteMs ??= this.elapsedMs
  }

  /** Writes the one log line and the metrics; later calls are ignored. */
  end(fields: Omit<RequestLine, 'requestId' | 'route' | 'format' | 'durationMs' | 'firstByteMs'>): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const line: RequestLine = {
      ...fields,
      requestId: this.requestId,
      route: this.#route,
      format: this.#format,
      attempts: this.calls.count > 1 ? this.calls.count : undefined,
      firstByteMs: this.#firstByteMs,
      durationMs: this.elapsedMs,
    }
    this.#world.log.request(line)
    this.#world.metrics.requestEnded(line)
  }

  /** The headers of every answer; `origin` is the client's. */
  headers(origin: string | null): Record<string, string> {
    const headers = answerHeaders(this.requestId, this.#world.corsOrigins(), origin)
    return this.#rates === undefined ? headers : Object.assign(headers, this.#rates())
  }

  /** Ends the exchange with a refusal. `headers`: those of every answer. */
  refuse(refusal: Refusal, origin: string | null, fields: Partial<RequestLine> = {}, headers = this.headers(origin)): Response {
    this.end({ ...fields, status: refusal.row.status, refusal: refusal.name })
    const body = this.#format === 'messages' ? nativeErrorBody(refusal) : errorBody(refusal)
    return new Response(JSON.stringify(body), {
      status: refusal.row.status,
      headers: { ...errorHeaders(refusal), 'cache-control': 'no-store', ...headers },
    })
  }
}
