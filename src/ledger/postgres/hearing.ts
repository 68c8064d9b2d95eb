/**
 * What other nodes say, and up to when everything that they said has been heard. A connection that is lost, or leads nowhere, says nothing of that: so a node says
 * something to itself, four times a second. Notifications come in the order of their commits: an echo that is heard proves that all was heard that was committed before it
 * was sent. Rules: nodes.md "What is heard".
 */

import type { NodeMessage } from '../nodes.ts'
import { CHANNEL, decodeMessage } from './messages.ts'
import { Session, SessionFailure } from './session.ts'

export type HearingOptions = Readonly<{
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
/** How long what was read counts where nothing is heard. Milliseconds. */
const UNHEARD_MS = 1_000

export class Hearing {
  readonly #options: HearingOptions
  readonly #echoMs: number
  readonly #patienceMs: number
  readonly #monotonicMs: () => number
  readonly #session: Session
  readonly #speaker: Pick<Session, 'ask'>
  readonly #echoChannel = `tollgate echo ${crypto.randomUUID().replaceAll('-', '')}`
  /** When the echoes were sent that are not heard yet, by their numbers. */
  readonly #echoes = new Map<number, number>()
  #lastEcho = 0
  #sinceMs = Number.POSITIVE_INFINITY
  #untilMs = Number.NEGATIVE_INFINITY
  #listeningSinceMs = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  /** What is still heard by a listener that was given up counts for nothing. */
  #ears: { isMine: boolean } | undefined
  #isListening = false
  readonly #firstListening = Promise.withResolvers<undefined>()
  #failure = new SessionFailure('', 'Postgres does not answer')
  #isClosed = false

  constructor(options: HearingOptions) {
    this.#options = options
    this.#echoMs = options.echoMs ?? ECHO_MS
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.#session = new Session({ url: options.url, name: options.name, limitMs: this.#patienceMs })
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
    if (nowMs - readAtMs < UNHEARD_MS) return true
    return readAtMs >= this.#sinceMs && nowMs - this.#untilMs < UNHEARD_MS
  }

  /** Nothing was heard for two echoes: whoever depends on it reads for himself. */
  isDeaf(): boolean {
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
    const ears = { isMine: true }
    this.#ears = ears
    const ifMine = <Args extends unknown[]>(hear: (...args: Args) => void) => {
      return (...args: Args): void => {
        if (ears.isMine && !this.#isClosed) hear(...args)
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
    if (this.#ears !== undefined) this.#ears.isMine = false
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
