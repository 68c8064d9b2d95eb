/**
 * Ends the process once its work is done: with its exit code, whatever thread or timer is left, and without losing output that is still being read. Rules:
 * operator.md "Commands".
 */

const LINGER_MS = 5_000

type Sink = Readonly<{ write(text: string, done: () => void): unknown }>

export class Output {
  readonly #sink: Sink
  #unread = 0

  constructor(sink: Sink) {
    this.#sink = sink
  }

  write(text: string): void {
    this.#unread++
    this.#sink.write(text, () => {
      this.#unread--
    })
  }

  get isRead(): boolean {
    return this.#unread === 0
  }
}

/** The process ends at once where nothing keeps it; otherwise it ends when `lingerMs` are over and all output is read. */
export function endWith(exitCode: number, outputs: readonly Pick<Output, 'isRead'>[], lingerMs = LINGER_MS): void {
  process.exitCode = exitCode
  const look = (): void => {
    if (outputs.every(({ isRead }) => isRead)) process.exit()
    setTimeout(look, lingerMs).unref()
  }
  setTimeout(look, lingerMs).unref()
}
