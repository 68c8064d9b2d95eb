/**
 * A relay's side of the socket to the ledger process: to the writer the link looks like a thread that dies when the connection ends. The link connects again until it is let in, or
 * is told that this relay is fenced. Rules: processes.md "Relays", "Death".
 */

import type { Enter, ThreadListener } from '../admission/thread-handle.ts'
import type { Opened, OpenProblem, ToThread } from '../thread-messages.ts'
import type { LinkOptions } from './link-options.ts'
import { connectToHub, type LinkSocket } from './link-socket.ts'
import { type FromHub, PROTOCOL, type Welcome } from './messages.ts'
import type { Question, Reply, Word } from './shared-state.ts'
import { WordQueue } from './word-queue.ts'

/** How long the link may be silent until this relay admits nothing: half of the silence after which the ledger process ends it. */
const TRUSTED_MS = 5_000
const PING_MS = 250
/** As many pings without an answer as fit in the time after which this relay admits nothing. A relay that itself stood still has sent none, and so counts none. */
const UNANSWERED_MAX = TRUSTED_MS / PING_MS
const RETRY_MS = 25
/** Longer than ends wait before they go into the relay's own spill. */
const GIVE_UP_MS = 5_000

export class RelayLink {
  readonly #options: LinkOptions
  #socket: LinkSocket | undefined
  /** Whether the relay was welcomed on this connection: before that, the ledger process takes nothing but the hello. */
  #isIn = false
  #boot: number | undefined
  #isReady = false
  #readySinceMs = Number.POSITIVE_INFINITY
  #isSound = true
  #isFenced = false
  #isOver = false
  #giveUpMs = Number.POSITIVE_INFINITY
  /** When the last answered ping was sent, by both clocks, because the monotonic one stops while a machine sleeps. */
  #trusted = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY }
  readonly #pings = new Map<number, Readonly<{ wallMs: number; monotonicMs: number }>>()
  #lastNumber = 0
  readonly #asked = new Map<number, (reply: Reply | 'unavailable') => void>()
  readonly #untold = new WordQueue()
  readonly #pinging: ReturnType<typeof setInterval>

  constructor(options: LinkOptions) {
    this.#options = options
    this.#pinging = setInterval(() => this.#ping(), PING_MS)
  }

  readonly enter: Enter = (listener) => {
    const entered = { isOver: false }
    const opened = this.#connect(listener, entered)
    return {
      opened,
      post: (message) => this.#post(message, listener),
      terminate: () => {
        entered.isOver = true
        this.#socket?.close()
      },
    }
  }

  /** False from half of the silence that ends a relay, because other processes may soon have what this one holds. */
  mayAdmit(): boolean {
    const { wallMs, monotonicMs } = this.#trusted
    return this.#isReady && performance.now() - monotonicMs < TRUSTED_MS && Date.now() - wallMs < TRUSTED_MS
  }

  /** Whether a read of that time still counts: all later changes of operators have arrived, except those of the last moment. */
  isCurrent(askedAtMs: number): boolean {
    return this.mayAdmit() && askedAtMs >= this.#readySinceMs
  }

  isSound(): boolean {
    return this.#isSound
  }

  /** Whether this relay is not let in, so that the ledger process reads all that this relay keeps now before it lets it in. */
  get isAway(): boolean {
    return !this.#isIn && !this.#isFenced
  }

  /** Asks only when all relays have said what they hold: before that, an answer might give to this relay what another one has. */
  ask(question: Question): Promise<Reply | 'unavailable'> {
    if (this.#socket === undefined || !this.#isReady) return Promise.resolve('unavailable')
    const number = ++this.#lastNumber
    const { promise, resolve } = Promise.withResolvers<Reply | 'unavailable'>()
    this.#asked.set(number, resolve)
    this.#socket.send({ kind: 'question', number, question })
    return promise
  }

  /** `onSent`: called when the word has left; until the relay is welcome it waits here. */
  tell(word: Word, onSent: () => void = () => undefined): void {
    this.#untold.add(word, onSent)
    if (this.#isIn) this.#sendWords()
  }

  /** To be called when this relay is about to close: if the ledger process does not come back soon, the relay ends without it, since its parent may be gone, too. */
  stop(): void {
    this.#giveUpMs = performance.now() + GIVE_UP_MS
  }

  close(): void {
    this.#isOver = true
    clearInterval(this.#pinging)
    this.#socket?.close()
  }

  async #connect(listener: ThreadListener, entered: { readonly isOver: boolean }): Promise<Opened | OpenProblem> {
    const { path, firstMs = Number.POSITIVE_INFINITY } = this.#options
    const untilMs = this.#boot === undefined ? performance.now() + firstMs : Number.POSITIVE_INFINITY
    while (!entered.isOver && !this.#isOver && !this.#isFenced && performance.now() < Math.min(untilMs, this.#giveUpMs)) {
      const welcome = await this.#comeIn(listener)
      if (welcome !== undefined) return { recovered: 0, wasLeftOpen: false, replayed: welcome.spill.replayed }
      await Bun.sleep(RETRY_MS)
    }
    return { problem: 'unwritable', message: `${path}: this process is no relay of the ledger process` }
  }

  /** Tries once to be let in; resolves when the relay is welcome, or, with undefined, when the connection ends. */
  async #comeIn(listener: ThreadListener): Promise<Welcome | undefined> {
    const { path, bootId, runs, held, onFault, connect = connectToHub } = this.#options
    const { promise, resolve } = Promise.withResolvers<Welcome | undefined>()
    const own: { socket?: LinkSocket; isIn: boolean; isClosed: boolean } = { isIn: false, isClosed: false }
    const socket = await connect(path, {
      hear: (message) => {
        if (message.kind === 'welcome') {
          own.isIn = this.#onWelcome(message)
          if (own.isIn) resolve(message)
          else own.socket?.close()
        } else if (own.isIn || message.kind === 'fenced') this.#hear(message, listener)
      },
      onClosed: () => {
        // A connection may end before it was handed over.
        own.isClosed = true
        if (own.socket !== undefined && this.#socket === own.socket) this.#onClosed()
        resolve(undefined)
        if (own.isIn) listener.onEnd()
      },
      onFault,
    })
    if (socket === undefined || own.isClosed) return undefined
    own.socket = socket
    this.#socket = socket
    socket.send({ kind: 'hello', protocol: PROTOCOL, bootId, isNew: this.#boot === undefined, runs: runs(), held: held() })
    return await promise
  }

  #onWelcome(welcome: Welcome): boolean {
    this.#boot = welcome.boot
    const joining = this.#options.onWelcome(welcome)
    if (joining === 'gone') this.#onFenced('it counted as gone: others may have what it held')
    this.#isIn = joining === 'in'
    if (this.#isIn) this.#sendWords()
    return this.#isIn
  }

  #sendWords(): void {
    this.#untold.sendAll((word) => this.#socket?.send({ kind: 'word', word }))
  }

  #onClosed(): void {
    this.#socket = undefined
    this.#isIn = false
    this.#isReady = false
    this.#pings.clear()
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    for (const resolve of asked) resolve('unavailable')
  }

  #post(message: ToThread, listener: ThreadListener): void {
    switch (message.kind) {
      case 'tasks':
        this.#socket?.send({ kind: 'tasks', tasks: message.tasks, debits: message.debits, prices: message.prices })
        break
      case 'close':
        if (this.#socket === undefined) listener.onClosed()
        else this.#socket.send({ kind: 'leave' })
        break
      default:
    }
  }

  #hear(message: FromHub, listener: ThreadListener): void {
    this.#options.onHeard()
    switch (message.kind) {
      case 'committed':
        listener.onCommitted(message)
        break
      case 'state': {
        const { isWritable, isSound, spillBytes, replayed } = message
        this.#isSound = isSound
        listener.onCommitted({ ...NOTHING, isWritable, spillBytes, replayed })
        break
      }
      case 'news':
        for (const one of message.messages) if (one.lane !== this.#boot) this.#options.onNews(one)
        break
      case 'ready':
        this.#isReady = true
        this.#readySinceMs = performance.now()
        this.#ping()
        this.#options.onMissed()
        break
      case 'pong':
        this.#trust(message.number)
        break
      case 'reply':
        this.#asked.get(message.number)?.(message.reply)
        this.#asked.delete(message.number)
        break
      case 'followed':
        this.#options.onFollowed(message)
        break
      case 'sent':
        this.#options.onSent?.(message)
        break
      case 'fenced':
        this.#onFenced(message.reason)
        break
      case 'left':
        listener.onClosed()
        break
      case 'welcome':
    }
  }

  #onFenced(reason: string): void {
    this.#isFenced = true
    this.#options.onFenced(reason)
  }

  #ping(): void {
    const isSilent = this.#isIn && this.#pings.size >= UNANSWERED_MAX
    if (isSilent) this.#options.onFault({ problem: 'the ledger process says nothing: its connection is ended' })
    // A ledger process that stands still accepts a connection and never answers.
    const isGivenUp = !this.#isIn && performance.now() >= this.#giveUpMs
    if (isSilent || isGivenUp) this.#socket?.close()
    if (isSilent || !this.#isIn) return
    const number = ++this.#lastNumber
    this.#pings.set(number, { wallMs: Date.now(), monotonicMs: performance.now() })
    this.#socket?.send({ kind: 'ping', number })
  }

  #trust(number: number): void {
    const sent = this.#pings.get(number)
    if (sent === undefined) return
    this.#pings.delete(number)
    this.#trusted = sent
  }
}

const NOTHING = { kind: 'committed', settled: new Float64Array(), answers: [], changes: [], faults: [] } as const
