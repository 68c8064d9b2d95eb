/**
 * Writes the log to standard error, once a turn of the event loop, without ever waiting for its reader. A slow reader loses log lines and delays no request;
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
  /** Writes what this turn has brought so far: the process ends. */
  flush: () => void
}>

export function lineWriter(sink: Sink): LineWriter {
  /** The lines of this turn; `pendingLength` also counts characters that were written and not read yet. */
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

/** The process's own; what the last turn said is written as the process ends, by a bug as well. */
export function logToStderr(): (line: string) => void {
  const { write, flush } = lineWriter(process.stderr)
  process.on('exit', flush)
  return write
}
