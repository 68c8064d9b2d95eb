/**
 * The parent of `serve --processes N`: it begins the processes, begins anew what dies, and passes on what it is told. It answers nothing and opens nothing, so that there is
 * little for it to die of. Rules: operator.md "Processes".
 */

import type { Log } from '../observe/log.ts'
import { EXIT } from './environment.ts'
import type { Order } from './orders.ts'

export type ProcessesOptions = Readonly<{
  count: number
  /** 0: the first picks one, which the others share; undefined: the configured one. */
  port: number | undefined
  /** The words that begin the process of this number, from 1 on. */
  command: (index: number, port: number | undefined) => readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** Told once, when all listen. */
  onListening: (url: string) => void
  log: Pick<Log, 'notice'>
  delays?: Delays
}>

/** Milliseconds: before the first new beginning, at most, and how long a process has to live that its death is the first again. */
type Delays = Readonly<{ firstMs: number; maxMs: number; steadyMs: number }>
const DELAYS: Delays = { firstMs: 200, maxMs: 30_000, steadyMs: 60_000 }

export class Processes {
  readonly #options: ProcessesOptions
  readonly #running = new Map<number, Child>()
  readonly #ending = Promise.withResolvers<void>()
  #isEnding = false
  #port: number | undefined

  constructor(options: ProcessesOptions) {
    this.#options = options
    this.#port = options.port
  }

  /** Resolves with the exit code when all have ended: because they were told to, or because one of them could not begin. */
  async run(): Promise<number> {
    const first = this.#begin(1)
    const url = await first.listening
    if (url !== undefined) this.#port = Number(new URL(url).port)
    const others =
      url === undefined || this.#isEnding ? [] : Array.from({ length: this.#options.count - 1 }, (_, at) => this.#begin(at + 2))
    const urls = await Promise.all(others.map(({ listening }) => listening))
    const all = [first, ...others]
    if (url === undefined || urls.includes(undefined)) this.stop()
    else if (!this.#isEnding) this.#options.onListening(url)
    const codes = await Promise.all(all.map((child, at) => this.#keep(at + 1, child)))
    return Math.max(...codes)
  }

  /** The first time they drain; after that they do not wait for running streams. */
  stop(): void {
    const order = this.#isEnding ? 'hurry' : 'drain'
    this.#isEnding = true
    this.#ending.resolve()
    this.#tell(order)
  }

  reload(): void {
    this.#tell('reload')
  }

  #tell(order: Order): void {
    for (const child of this.#running.values()) child.tell(order)
  }

  #begin(index: number): Child {
    const child = begun(this.#options.command(index, this.#port), this.#options.env)
    this.#options.log.notice('a process begins', { process: index, pid: child.pid })
    this.#running.set(index, child)
    return child
  }

  /** Begins it anew as long as nobody wants the end. */
  async #keep(index: number, first: Child): Promise<number> {
    const { log, delays = DELAYS } = this.#options
    let deaths = 0
    for (let child = first; ; child = this.#begin(index)) {
      const began = performance.now()
      const code = await child.ended
      this.#running.delete(index)
      if (this.#isEnding) return code
      deaths = performance.now() - began >= delays.steadyMs ? 1 : deaths + 1
      const waitMs = Math.min(delays.maxMs, delays.firstMs * 2 ** (deaths - 1))
      log.notice('a process ended and will begin anew', { process: index, code, wait_ms: waitMs })
      await Promise.race([Bun.sleep(waitMs), this.#ending.promise])
      if (this.#isEnding) return EXIT.ok
    }
  }
}

/** `listening`: where; undefined: it ended before. `ended`: its exit code. */
type Child = Readonly<{ pid: number; listening: Promise<string | undefined>; ended: Promise<number>; tell(order: Order): void }>

function begun(command: readonly string[], env: ProcessesOptions['env']): Child {
  const child = Bun.spawn([...command], { env: { ...env }, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  return {
    pid: child.pid,
    listening: addressIn(child.stdout),
    ended: child.exited,
    tell(order) {
      try {
        child.stdin.write(`${order}\n`)
        Promise.resolve(child.stdin.flush()).catch(() => undefined)
      } catch {
        // It has just ended.
      }
    },
  }
}

/** What `serve` says on standard output when it listens. */
async function addressIn(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    const address = /^tollgate listening on (\S+)\n/m.exec(text)?.[1]
    if (address !== undefined) return address
  }
  return undefined
}
