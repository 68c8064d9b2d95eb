/**
 * Listens to the notifications of other nodes, and knows up to which moment none was missed. A lost connection gives no sign, so a node sends itself an echo four times a
 * second. Notifications come in the order of their commits, so an echo that arrives proves that everything committed before it has arrived. Rules: nodes.md
 * "Notifications".
 */

import type { NodeMessage } from '../nodes.ts'
import { CHANNEL, decodeMessage } from './messages.ts'
import { Session, SessionFailure } from './session.ts'

export type NotificationListenerOptions = Readonly<{
  url: string
  /** The name of the connection in pg_stat_activity. */
  name: string
  onMessage: (message: NodeMessage) => void
  /** Called when listening has begun, or has begun again: earlier notifications may have been missed. */
  onMissed: () => void
  onBug: (bug: unknown) => void
  /** The session that sends the echoes; default: the listener's own. */
  speaker?: Pick<Session, 'ask'>
  echoMs?: number
  /** How long echoes may fail to arrive before the connection is made anew. */
  patienceMs?: number
  monotonicMs?: () => number
}>

const ECHO_MS = 250
const PATIENCE_MS = 3_000
/** How long a read counts as current without an echo, in milliseconds. */
const UNCONFIRMED_MS = 1_000

export class NotificationListener {
  readonly #options: NotificationListenerOptions
  readonly #echoMs: number
  readonly #patienceMs: number
  readonly #monotonicMs: () => number
  readonly #session: Session
  readonly #speaker: Pick<Session, 'ask'>
  readonly #echoChannel = `tollgate echo ${crypto.randomUUID().replaceAll('-', '')}`
  /** The echoes that have not arrived yet: when each was sent, by number. */
  readonly #echoes = new Map<number, number>()
  #lastEcho = 0
  #sinceMs = Number.POSITIVE_INFINITY
  #untilMs = Number.NEGATIVE_INFINITY
  #listeningSinceMs = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The present subscription. One that was given up may still deliver; its `isMine` is false, and its messages are ignored. */
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

  /** Resolves with undefined when listening has begun for the first time, or after `limitMs` with the reason why it has not. */
  async untilListening(limitMs: number): Promise<SessionFailure | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<SessionFailure>()
    const timer = setTimeout(() => resolve(this.#failure), limitMs)
    const failure = await Promise.race([this.#firstListening.promise, late])
    clearTimeout(timer)
    return failure
  }

  /**
   * Whether a read of that time still counts, apart from changes of the last second: no notification since then was missed, or less than a second has passed. `readAtMs`: the
   * monotonic time before the read was asked for.
   */
  isCurrent(readAtMs: number): boolean {
    const nowMs = this.#monotonicMs()
    if (nowMs - readAtMs < UNCONFIRMED_MS) return true
    return readAtMs >= this.#sinceMs && nowMs - this.#untilMs < UNCONFIRMED_MS
  }

  /** True when no echo has arrived for the time of two: whatever depends on notifications must then be read from the rows. */
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
    // Echoes that are under way are dropped, because they may have been sent before listening began.
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
