/**
 * The parent of `serve --processes N`: it starts the processes, restarts those that die, and passes commands on. It answers no requests and opens no files,
 * so that little can end it. Rules: operator.md "Processes".
 */

import type { Log } from '../observe/log.ts'
import { BegunProcess } from './begun-process.ts'
import { EXIT } from './environment.ts'
import type { ReloadOrder } from './process-commands.ts'

export type ProcessesOptions = Readonly<{
  count: number
  /** Whether there is a process number 0, which has the ledger's file. The others are its relays: it begins before them and ends after them. */
  leads?: boolean
  /** 0: the first process picks a port, which the others share; undefined: the configured port. */
  port: number | undefined
  /** The command line that starts the process of this number. `relays`: for number 0, the process ids of the relays that live. */
  command: (index: number, port: number | undefined, relays: readonly number[]) => readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** Called once, when all processes listen. */
  onListening: (url: string) => void
  log: Pick<Log, 'notice'>
  delays?: Delays
  /** How long a process may say nothing while it begins. */
  silentMs?: number
  /** How long all processes may take to end. */
  endMs: () => number
}>

/** The wait after a first death, the longest wait, and how long a process must live for its death to count as the first again. */
type Delays = Readonly<{ firstMs: number; maxMs: number; steadyMs: number }>
const LEADER = 0
const SILENT_MS = 30_000
/** How long a process that was cut off has to end by itself, as it does where it was suspended and wakes together with this one. */
const WAKING_MS = 1_000
const TIMER_MS_MAX = 2 ** 31 - 1
const DELAYS: Delays = { firstMs: 200, maxMs: 30_000, steadyMs: 60_000 }

export class Processes {
  readonly #options: ProcessesOptions
  readonly #running = new Map<number, BegunProcess>()
  readonly #ending = Promise.withResolvers<void>()
  #isEnding = false
  #cannotBegin = false
  #end: ReturnType<typeof setTimeout> | undefined
  #port: number | undefined

  constructor(options: ProcessesOptions) {
    this.#options = options
    this.#port = options.port
  }

  /** Resolves with the exit code when all processes have ended: because they were told to, or because one of them could not begin. */
  async run(): Promise<number> {
    if (this.#options.leads !== true) return await this.#runAll()
    const leader = await this.#beginOnce(LEADER)
    if (leader.url === undefined) this.stop()
    const code = this.#keep(LEADER, leader.child)
    const codes = [leader.url === undefined || this.#isEnding ? EXIT.ok : await this.#runAll()]
    // All relays have ended, so the leader has every write that they acknowledged.
    this.#running.get(LEADER)?.tell('drain')
    codes.push(await code)
    clearTimeout(this.#end)
    return Math.max(...codes)
  }

  async #runAll(): Promise<number> {
    const first = await this.#beginOnce(1)
    if (first.url !== undefined) this.#port = Number(new URL(first.url).port)
    const isAlone = first.url === undefined || this.#isEnding
    const others = isAlone ? [] : await Promise.all(Array.from({ length: this.#options.count - 1 }, (_, at) => this.#beginOnce(at + 2)))
    const all = [first, ...others]
    if (all.some(({ url }) => url === undefined)) this.stop()
    else if (!this.#isEnding) this.#options.onListening(first.url ?? '')
    const codes = await Promise.all(all.map(({ child }, at) => this.#keep(at + 1, child)))
    if (this.#options.leads !== true) clearTimeout(this.#end)
    return Math.max(...codes)
  }

  /** The first call makes the processes drain; after a further call they do not wait for running streams. */
  stop(): void {
    const order = this.#isEnding ? 'hurry' : 'drain'
    if (!this.#isEnding) this.#end = setTimeout(() => this.#kill(), Math.min(TIMER_MS_MAX, this.#options.endMs()))
    this.#isEnding = true
    this.#ending.resolve()
    this.#tell(order)
  }

  /** All that change write the line, which by its time is one: of any single process the file may have been read anew since it was edited, so that it changes nothing. */
  reload(order: ReloadOrder): void {
    const lineAt = order === 'reloadWithLine' ? Date.now() : undefined
    for (const child of this.#running.values()) child.tell('reload', lineAt)
  }

  /** Tells every process. A leader is told to end only when no other process runs. */
  #tell(order: 'drain' | 'hurry'): void {
    for (const [index, child] of this.#running) if (index !== LEADER || this.#isAlone) child.tell(order)
  }

  /** Whether exactly one process runs: the others have ended, or have not begun. */
  get #isAlone(): boolean {
    return this.#running.size === 1
  }

  #kill(): void {
    for (const [index, child] of this.#running) {
      this.#options.log.notice('a process has not ended in time and is killed', { process: index, pid: child.pid })
      child.kill()
    }
  }

  /** Resolves when the process listens or ends by itself. A start that hangs is tried again, since it is no mistake of the configuration. */
  async #beginOnce(index: number): Promise<Readonly<{ child: BegunProcess; url: string | undefined }>> {
    for (;;) {
      const child = this.#begin(index)
      const url = await child.listening
      if (url === undefined && !child.wasSilent) this.#cannotBegin = true
      if (!child.wasSilent || this.#isEnding || this.#cannotBegin) return { child, url }
    }
  }

  /** Whether a process that ended stays ended. A leader is begun again while relays drain, since they need it. */
  #isOver(index: number): boolean {
    return this.#isEnding && (index !== LEADER || this.#relays.length === 0)
  }

  get #relays(): readonly number[] {
    return [...this.#running].filter(([index]) => index !== LEADER).map(([, { pid }]) => pid)
  }

  #begin(index: number): BegunProcess {
    const { log, env, command, silentMs = SILENT_MS } = this.#options
    const child = new BegunProcess({
      command: command(index, this.#port, index === LEADER ? this.#relays : []),
      env,
      silentMs,
      onAsked: (order) => this.reload(order),
      onSilent: (step) => log.notice('a process hangs while it begins: it is killed and begun anew', { process: index, step }),
      onCutOff: (pid) => this.#onCutOff(pid),
    })
    log.notice('a process begins', { process: index, pid: child.pid })
    this.#running.set(index, child)
    return child
  }

  /**
   * Ends a relay that may not be one any more: it may stand still, and its socket would go on drawing its part of the new connections. One that still begins may have had
   * nothing to say to the leader yet, and draws none: it has its own time.
   */
  #onCutOff(pid: number): void {
    for (const [index, child] of this.#running) {
      if (index === LEADER || child.pid !== pid || !child.hasBegun) continue
      const late = setTimeout(() => {
        this.#options.log.notice('a process is cut off from the ledger and is killed', { process: index, pid })
        child.kill()
      }, WAKING_MS)
      child.ended.finally(() => clearTimeout(late))
    }
  }

  /** Starts the process again whenever it ends, until the parent stops. */
  async #keep(index: number, first: BegunProcess): Promise<number> {
    const { log, delays = DELAYS } = this.#options
    let deaths = 0
    for (let child = first; ; child = this.#begin(index)) {
      const began = performance.now()
      const code = await child.ended
      this.#running.delete(index)
      if (this.#isOver(index)) return code
      deaths = performance.now() - began >= delays.steadyMs ? 1 : deaths + 1
      const waitMs = Math.min(delays.maxMs, delays.firstMs * 2 ** (deaths - 1))
      log.notice('a process ended and will begin anew', { process: index, code, wait_ms: waitMs })
      await (index === LEADER ? Bun.sleep(waitMs) : Promise.race([Bun.sleep(waitMs), this.#ending.promise]))
      if (this.#isOver(index)) return EXIT.ok
    }
  }
}
