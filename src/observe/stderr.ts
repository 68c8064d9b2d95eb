/**
 * Where the log goes: standard error, without ever waiting for who reads it. A reader that stands still costs log lines, not requests or memory; one that
 * has gone costs the log. Rules: operator.md "Log".
 */

const PENDING_BYTES_MAX = 16 * 1024 * 1024

type Sink = Readonly<{
  write(line: string, done: (error?: Error | null) => void): unknown
  on(event: 'error', listener: () => void): unknown
}>

/** Takes whole lines. Beyond 16 MiB that nobody has read, lines are dropped; how many is told as soon as there is room again. */
export function lineWriter(sink: Sink): (line: string) => void {
  let pendingBytes = 0
  let dropped = 0
  // A broken pipe must not become an uncaught exception.
  sink.on('error', () => undefined)
  const send = (line: string): void => {
    const bytes = Buffer.byteLength(line)
    pendingBytes += bytes
    sink.write(line, () => {
      pendingBytes -= bytes
    })
  }
  return (line) => {
    if (pendingBytes >= PENDING_BYTES_MAX) {
      dropped++
      return
    }
    if (dropped > 0) send(`{"level":"warn","notice":"log lines were dropped","count":${dropped}}\n`)
    dropped = 0
    send(line)
  }
}
