/**
 * Writes the log to standard error, once in each turn of the event loop, without ever waiting for the reader. A slow reader loses log lines and delays no request;
 * a reader that has gone loses the log. Rules: operator.md "Log".
 */

const PENDING_LENGTH_MAX = 16 * 1024 * 1024

type Sink = Readonly<{
  write(text: string, done: (error?: Error | null) => void): unknown
  on(event: 'error', listener: () => void): unknown
}>

export type LineWriter = Readonly<{
  /** Takes a whole line. Beyond 16 Mi unread characters lines are dropped; a line says how many as soon as there is room again. */
  write: (line: string) => void
  /** Writes the lines of this turn so far, before the process ends. */
  flush: () => void
}>

export function lineWriter(sink: Sink): LineWriter {
  /** The lines of this turn. `pendingLength` counts their characters, and those that were written but not read yet. */
  let lines = ''
  let pendingLength = 0
  let dropped = 0
  // A broken pipe must not become an uncaught exception.
  sink.on('error', () => undefined)
  const flush = (): void => {
    if (lines === '') return
    const text = lines
    lines = ''
    sink.write(text, () => {
      pendingLength -= text.length
    })
  }
  const add = (line: string): void => {
    if (lines === '') setImmediate(flush)
    lines += line
    pendingLength += line.length
  }
  const write = (line: string): void => {
    if (pendingLength >= PENDING_LENGTH_MAX) {
      dropped++
      return
    }
    if (dropped > 0) add(`{"level":"warn","notice":"log lines were dropped","count":${dropped}}\n`)
    dropped = 0
    add(line)
  }
  return { write, flush }
}

/** The writer to this process's standard error. The lines of the last turn are written when the process exits, even after a bug. */
export function logToStderr(): (line: string) => void {
  const { write, flush } = lineWriter(process.stderr)
  process.on('exit', flush)
  return write
}
