/** One of several processes as its parent sees it: its steps, its commands, its end. Rules: operator.md "Processes". */

import { EXIT } from './environment.ts'
import { commandText, type ProcessCommand, type ReloadOrder } from './process-commands.ts'
import { heardIn } from './steps.ts'

type Begun = Readonly<{
  command: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  /** How long the process may say nothing before it listens. */
  silentMs: number
  /** Called when the process said nothing for too long after `step`; it is then killed. */
  onSilent: (step: string) => void
  /** Called when the process has its set reload. */
  onAsked: (order: ReloadOrder) => void
  /** Called when the process says that it has cut off the process of this number. */
  onCutOff: (pid: number) => void
}>

export class BegunProcess {
  readonly #child
  readonly #begun: Begun
  readonly #listening = Promise.withResolvers<string | undefined>()
  #step = 'nothing'
  #watch: ReturnType<typeof setTimeout> | undefined
  #hasBegun = false
  #wasSilent = false

  constructor(begun: Begun) {
    this.#begun = begun
    this.#child = Bun.spawn([...begun.command], { env: { ...begun.env }, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
    this.#watchOn()
    this.#hear().catch(() => this.#onEnd())
  }

  get pid(): number {
    return this.#child.pid
  }

  /** Resolves with the address at which the process listens; undefined: it ended before it listened. */
  get listening(): Promise<string | undefined> {
    return this.#listening.promise
  }

  /** Whether the process has begun to listen. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Whether the process was killed because it said nothing. */
  get wasSilent(): boolean {
    return this.#wasSilent
  }

  /** The exit code of the process; it is 0 where the parent ended the process before it listened. */
  get ended(): Promise<number> {
    return this.#child.exited.then((code) => (this.#child.signalCode !== null && !this.#hasBegun ? EXIT.ok : code))
  }

  /** A process that still begins reads no commands and has no handler for signals, so SIGTERM ends it. It obeys a reload once it has begun. */
  tell(order: ProcessCommand, lineAt?: number): void {
    if (!this.#hasBegun && (order === 'drain' || order === 'hurry')) {
      this.#child.kill('SIGTERM')
      return
    }
    try {
      this.#child.stdin.write(`${commandText(order, lineAt)}\n`)
      Promise.resolve(this.#child.stdin.flush()).catch(() => undefined)
    } catch {
      // The process has just ended.
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #hear(): Promise<void> {
    for await (const heard of heardIn(this.#child.stdout)) {
      switch (heard.kind) {
        case 'opens':
          this.#onStep(heard.step)
          break
        case 'listens':
          this.#onListening(heard.url)
          break
        case 'asks':
          this.#begun.onAsked(heard.order)
          break
        case 'cutsOff':
          this.#begun.onCutOff(heard.pid)
      }
    }
    this.#onEnd()
  }

  #onStep(step: string): void {
    if (this.#hasBegun) return
    this.#step = step
    this.#watchOn()
  }

  #onListening(url: string): void {
    clearTimeout(this.#watch)
    this.#hasBegun = true
    this.#listening.resolve(url)
  }

  #watchOn(): void {
    clearTimeout(this.#watch)
    this.#watch = setTimeout(() => {
      this.#wasSilent = true
      this.#begun.onSilent(this.#step)
      this.kill()
    }, this.#begun.silentMs)
  }

  #onEnd(): void {
    clearTimeout(this.#watch)
    this.#listening.resolve(undefined)
  }
}
