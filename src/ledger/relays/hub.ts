/**
 * The ledger process' side of its relays: it carries what they ask to the thread that writes, and the answers back. Rules: processes.md "Relays", "Death".
 */

import type { Enter, RelayMessage, ThreadHandle, ThreadListener } from '../admission/thread-handle.ts'
import type { Relays } from '../open-options.ts'
import type { Committed, LedgerFault } from '../thread-messages.ts'
import { type Connection, listenForRelays } from './hub-socket.ts'
import { drop, GONE, LivingRelays, type Relay, type WhyGone } from './living-relays.ts'
import { type FromHub, type Hello, PROTOCOL, type ToHub } from './messages.ts'
import type { SharedState } from './shared-state.ts'

export type HubOptions = Readonly<{
  path: string
  state: SharedState
  /** Living processes that were relays of the previous ledger process. */
  expected?: readonly number[]
  now: () => number
  isSound: () => boolean
  onFault: (fault: LedgerFault) => void
  /** How long a silent relay keeps what it has. */
  silenceMs?: number
  /** Called with the number of a process that was cut off and runs: it is no relay any more. */
  onCutOff?: (pid: number) => void
  /** Default: a socket, and the kernel's word. */
  listen?: typeof listenForRelays
  beginningOf?: (pid: number) => string | undefined
}>

export class RelayHub implements Relays {
  readonly #options: HubOptions
  readonly #socket: Readonly<{ close(): void }>
  readonly #living: LivingRelays
  #thread: ThreadHandle | undefined
  #isReady = false
  #wasWritable = true
  /** Whether the file at the ledger's path is not the open one. */
  #isLost = false
  #emptied: (() => void)[] = []

  constructor(options: HubOptions) {
    this.#options = options
    const { path, expected = [], silenceMs, onFault, onCutOff, listen = listenForRelays, beginningOf } = options
    this.#living = new LivingRelays(expected, {
      ...{ silenceMs, beginningOf, onCutOff },
      onGone: (relay, why) => this.#onGone(relay, why),
      onLooked: () => this.#onLooked(),
      isWritable: () => this.#wasWritable && !this.#isLost,
    })
    options.state.over(this.#living)
    this.#socket = listen(path, {
      hear: (connection, message) => this.#hear(connection, message),
      onClosed: (connection) => {
        const relay = this.#relayOf(connection)
        if (relay !== undefined) relay.connection = undefined
      },
      onFault,
    })
  }

  keepsInFlight(): boolean {
    return !this.#living.isEmpty
  }

  through(enter: Enter): Enter {
    return (listener) => this.#enter(enter, listener)
  }

  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      this.#emptied.push(resolve)
    })
  }

  close(): void {
    this.#living.close()
    this.#socket.close()
  }

  #enter(enter: Enter, listener: ThreadListener): ThreadHandle {
    this.#isLost = false
    const thread = enter({
      ...listener,
      onCommitted: (committed) => this.#onCommitted(committed, listener),
      onLost: (loss) => {
        this.#isLost = loss !== undefined
        this.#tellAll(this.#state())
        listener.onLost(loss)
      },
      onRelay: (message) => this.#onRelay(message),
      onEnd: () => {
        if (this.#thread === thread) this.#onThreadEnd()
        listener.onEnd()
      },
    })
    thread.opened.then(
      (opened) => {
        if (!('recovered' in opened)) return
        this.#thread = thread
        // It may be that the thread before it did not get to them.
        for (const boot of this.#options.state.gone()) thread.post({ kind: 'relayGoes', boot })
      },
      () => undefined,
    )
    return thread
  }

  /** Makes all relays join again: they tell the next thread what they hold. */
  #onThreadEnd(): void {
    this.#thread = undefined
    this.#isReady = false
    for (const relay of this.#living.all()) {
      relay.boot = undefined
      drop(relay)
    }
  }

  #onCommitted(committed: Committed, listener: ThreadListener): void {
    const { to, ...rest } = committed
    const { news = [], replayed = [], isWritable } = committed
    if (to !== undefined) {
      this.#living.find(({ boot }) => boot === to)?.connection?.send({ ...rest, isWritable: isWritable && !this.#isLost })
      return
    }
    const hasChanged = isWritable !== this.#wasWritable
    this.#wasWritable = isWritable
    if (hasChanged || replayed.length > 0) this.#tellAll(this.#state(replayed))
    if (news.length > 0) this.#tellAll({ kind: 'news', messages: news })
    listener.onCommitted(rest)
  }

  #state(replayed: readonly string[] = []): FromHub {
    return { kind: 'state', isWritable: this.#wasWritable && !this.#isLost, isSound: this.#options.isSound(), spillBytes: 0, replayed }
  }

  #onRelay(message: RelayMessage): void {
    if (message.kind === 'relayGone') {
      this.#options.state.endClaims(message.boot)
      this.#living.find(({ boot }) => boot === message.boot)?.connection?.send({ kind: 'left' })
      return
    }
    const { bootId, boot, ledgerId, spill } = message
    const relay = this.#living.get(bootId)
    if (relay === undefined) {
      // The relay died while it joined, when its boot was not known here.
      if (boot !== undefined) this.#thread?.post({ kind: 'relayGoes', boot })
      return
    }
    // The storage cannot take the relay now, so its connection is dropped, and it soon tries again.
    if (boot === undefined || ledgerId === undefined || spill === undefined) {
      drop(relay)
      return
    }
    this.#living.noteJoined(relay, boot)
    this.#options.state.join(boot, relay.hello.held)
    for (const first of [{ kind: 'welcome', boot, ledgerId, spill } as const, this.#state()]) relay.connection?.send(first)
    if (this.#isReady) relay.connection?.send({ kind: 'ready' })
  }

  /** Lets leases be granted once all living relays have said what they hold. */
  #onLooked(): void {
    if (!this.#isReady && this.#thread !== undefined && this.#living.areAllThere) {
      this.#isReady = true
      this.#thread.post({ kind: 'relaysKnown' })
      this.#tellAll({ kind: 'ready' })
    }
    if (this.#living.isEmpty) for (const tell of this.#emptied.splice(0)) tell()
  }

  #hear(connection: Connection, message: ToHub): void {
    const relay = this.#relayOf(connection)
    if (message.kind === 'hello') this.#onHello(connection, message)
    else if (relay?.boot !== undefined) this.#obey(relay, relay.boot, connection, message)
    // A relay that speaks before it is welcome may wait for an answer that never comes, so its connection is ended: then it joins again.
    else connection.close()
  }

  #obey(relay: Relay, boot: number, connection: Connection, message: Exclude<ToHub, Hello>): void {
    relay.heardAtMs = performance.now()
    switch (message.kind) {
      case 'tasks':
        this.#thread?.post({ ...message, from: boot })
        break
      case 'ping':
        connection.send({ kind: 'pong', number: message.number })
        break
      case 'question':
        this.#answer(connection, boot, message)
        break
      case 'word':
        this.#options.state.hear(boot, message.word)
        break
      case 'leave':
        // The relay gets the answers to its tasks before it hears that it has left.
        this.#end(relay)
    }
  }

  #answer(connection: Connection, boot: number, { number, question }: Extract<ToHub, { kind: 'question' }>): void {
    Promise.try(() => this.#options.state.ask(boot, question)).then(
      (reply) => connection.send({ kind: 'reply', number, reply }),
      (bug: unknown) => {
        this.#options.onFault({ problem: 'what relays share failed by a bug', bug })
        connection.close()
      },
    )
  }

  #onHello(connection: Connection, hello: Hello): void {
    const reason =
      hello.protocol !== PROTOCOL
        ? 'its program is not that of the ledger process'
        : this.#living.mayJoin(hello, connection.pid)
          ? undefined
          : 'it was cut off or is not known: others may have what it held'
    if (reason === undefined) this.#living.noteCall(hello, connection.pid)
    if (reason !== undefined) connection.send({ kind: 'fenced', reason })
    else if (this.#thread === undefined) connection.close()
    else {
      const { bootId } = this.#living.add(hello, connection)
      this.#thread.post({ kind: 'relayJoins', bootId, now: this.#options.now(), runs: hello.runs })
    }
  }

  #onGone(relay: Relay, why: WhyGone): void {
    const problem = `a relay (process ${relay.pid}) ${GONE[why]}: it is cut off, and what it held is free`
    if (why !== 'dead') this.#options.onFault({ kind: 'node', problem })
    this.#end(relay)
    this.#living.remove(relay)
    drop(relay)
  }

  /** Ends a relay: its leases end, its requests in flight are waived, and what it had of the shared things is free, also where it dies while it joins again. */
  #end(relay: Relay): void {
    const { lastBoot: boot } = relay
    if (!this.#living.noteEnded(relay) || boot === undefined) return
    this.#options.state.leave(boot)
    this.#thread?.post({ kind: 'relayGoes', boot })
  }

  #tellAll(message: FromHub): void {
    for (const { connection, boot } of this.#living.all()) if (boot !== undefined) connection?.send(message)
  }

  #relayOf(connection: Connection): Relay | undefined {
    return this.#living.find((relay) => relay.connection === connection)
  }
}
