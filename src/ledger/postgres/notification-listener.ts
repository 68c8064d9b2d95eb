/**
 * Listens to what other nodes say by NOTIFY, and knows up to when nothing was missed. A lost connection gives no sign, so a node sends itself an echo four times a
 * second. Notifications come in the order of their commits: an echo that arrives proves that everything committed before it has arrived. Rules: nodes.md
 * "Notifications".
 */

import type { NodeMessage } from '../nodes.ts'
import { CHANNEL, decodeMessage } from './messages.ts'
import { Session, SessionFailure } from './session.ts'

export type NotificationListenerOptions = Readonly<{
  url: string
  /** What stands in pg_stat_activity. */
  name: string
  onMessage: (message: NodeMessage) => void
  /** Listening has begun, or has begun again: what was said before may have been missed. */
  onMissed: () => void
  onBug: (bug: unknown) => void
  /** Whose connection says the echoes; default: one of its own. */
  speaker?: Pick<Session, 'ask'>
  echoMs?: number
  /** How long no echo comes until the connection is made anew. */
  patienceMs?: number
  monotonicMs?: () => number
}>

const ECHO_MS = 250
const PATIENCE_MS = 3_000
/** How long a read counts as current without an echo. Milliseconds. */
const UNCONFIRMED_MS = 1_000

export class NotificationListener {
  readonly #options: NotificationListenerOptions
  readonly #echoMs: number
  readonly #patienceMs: number
  readonly #monotonicMs: () => number
  readonly #session: Session
  readonly #speaker: Pick<Session, 'ask'>
  readonly #echoChannel = `tollgate echo ${crypto.randomUUID().replaceAll('-', '')}`
  /** When the echoes that have not arrived yet were sent, by their numbers. */
  readonly #echoes = new Map<number, number>()
  #lastEcho = 0
  #sinceMs = Number.POSITIVE_INFINITY
  #untilMs = Number.NEGATIVE_INFINITY
  #listeningSinceMs = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  /** A subscription that was given up may still deliver: then it is not `isMine`, and nothing of it counts. */
  #subscription: { isMine: boolean } | undefined
  #isListening = false
  readonly #firstListening = Promise.withResolvers<undefined>()
  #failure = new SessionFailure('', 'Postgres does not answer')
  #isClosed = false

  constructor(options: NotificationListenerOptions) {
    this.#options = options
    this.#echoMs = options.echoMs ?? ECHO_MS
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#session = new Session({ url: options.url, name: options.name, limitMs: this.#patienceMs, onLost: () => this.#loseListener() })
    this.#speaker = options.speaker ?? this.#session
  }

  begin(): void {
    this.#schedule(0)
  }

  /** Resolves when it listens for the first time; with why it does not, when that takes too long. */
  async untilListening(limitMs: number): Promise<SessionFailure | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<SessionFailure>()
    const timer = setTimeout(() => resolve(this.#failure), limitMs)
    const failure = await Promise.race([this.#firstListening.promise, late])
    clearTimeout(timer)
    return failure
  }

  /**
   * Whether what was read then is what it would be now, but for the last second: nothing that was said since has been missed, or there was no time for it. `readAtMs`:
   * monotonic, before it was asked for.
   */
  isCurrent(readAtMs: number): boolean {
    const nowMs = this.#monotonicMs()
    if (nowMs - readAtMs < UNCONFIRMED_MS) return true
    return readAtMs >= this.#sinceMs && nowMs - this.#untilMs < UNCONFIRMED_MS
  }

  /** No echo has arrived for the time of two: what depends on notifications is to be read from the rows. */
  isStale(): boolean {
    return this.#monotonicMs() - this.#untilMs > 2 * this.#echoMs
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#session.close()
  }

  #schedule(pauseMs: number): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#turn().catch((error: unknown) => {
        if (!(error instanceof SessionFailure)) this.#options.onBug(error)
      })
    }, pauseMs)
  }

  async #turn(): Promise<void> {
    const startedMs = this.#monotonicMs()
    try {
      if (!this.#isListening) await this.#listen()
      if (!this.#isClosed) await this.#sayEcho()
    } catch (error) {
      if (error instanceof SessionFailure) this.#failure = error
      this.#loseListener()
      throw error
    } finally {
      if (this.#isListening && startedMs - Math.max(this.#untilMs, this.#listeningSinceMs) > this.#patienceMs) this.#loseListener()
      this.#schedule(Math.max(0, this.#echoMs - (this.#monotonicMs() - startedMs)))
    }
  }

  async #listen(): Promise<void> {
    const subscription = { isMine: true }
    this.#subscription = subscription
    const ifMine = <Args extends unknown[]>(listener: (...args: Args) => void) => {
      return (...args: Args): void => {
        if (subscription.isMine && !this.#isClosed) listener(...args)
      }
    }
    await this.#session.listen(
      CHANNEL,
      ifMine((text: string) => this.#onMessage(text)),
      ifMine(() => this.#onListening()),
    )
    await this.#session.listen(
      this.#echoChannel,
      ifMine((text: string) => this.#onEcho(text)),
      ifMine(() => this.#echoes.clear()),
    )
    this.#isListening = true
    this.#firstListening.resolve(undefined)
    this.#listeningSinceMs = this.#monotonicMs()
  }

  #loseListener(): void {
    if (this.#subscription !== undefined) this.#subscription.isMine = false
    this.#isListening = false
    this.#echoes.clear()
    this.#session.close()
  }

  async #sayEcho(): Promise<void> {
    const number = ++this.#lastEcho
    this.#echoes.set(number, this.#monotonicMs())
    await this.#speaker.ask('SELECT pg_notify($1, $2)', [this.#echoChannel, `${number}`])
  }

  #onMessage(text: string): void {
    const message = decodeMessage(text)
    if (message !== undefined) this.#options.onMessage(message)
  }

  #onListening(): void {
    // Those that are under way may have been said before.
    this.#echoes.clear()
    this.#sinceMs = this.#monotonicMs()
    this.#options.onMissed()
  }

  #onEcho(text: string): void {
    const heard = Number(text)
    const sentMs = this.#echoes.get(heard)
    if (sentMs !== undefined) this.#untilMs = sentMs
    for (const number of this.#echoes.keys()) if (number <= heard) this.#echoes.delete(number)
  }
}
