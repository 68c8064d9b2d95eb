/**
 * The operator's way to a running gateway: a unix socket beside the ledger, for its owner only. One operation in, its result out. It is made by whoever
 * holds the ledger's lock. Rules: ledger.md "One writer"; operator.md "Socket".
 */

import { lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realPathOf } from '../ledger/file-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Operation, OperationResult } from '../ledger/operation.ts'
import { readOperation, readResult, writeOperation } from './operation-json.ts'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS, with the closing zero and the process id that is behind the name at first. */
const PATH_BYTES_MAX = 92
const BODY_BYTES_MAX = 65_536
const ANSWER_TIMEOUT_MS = 10_000
/** Only the owner may read and write. */
const UMASK = 0o177

/** `<ledger>.sock` beside the file itself, whatever link led to it, or a hash of it in the temporary folder where that would be too long. */
export function socketPathOf(ledgerPath: string): string {
  const path = `${realPathOf(ledgerPath)}.sock`
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex').slice(0, 32)
  return join(tmpdir(), `tollgate-${hash}.sock`)
}

/** Call it with the ledger's lock held: a socket file that is still there then belongs to a dead process. `onBug` is told what an operation threw. */
export function listenOnOperatorSocket(
  path: string,
  ledger: Ledger,
  onBug: (bug: unknown) => void = () => undefined,
): { close(): Promise<void> } {
  removeSocket(path)
  // Bun takes away the name that it listens on when it stops, whose ever it is by then.
  const first = `${path}.${process.pid}`
  removeSocket(first)
  const umask = process.umask(UMASK)
  try {
    const server = Bun.serve({
      unix: first,
      maxRequestBodySize: BODY_BYTES_MAX,
      fetch: (request) => answer(request, ledger),
      // Bun's own would write the error's message to the log.
      error(bug) {
        onBug(bug)
        return new Response(null, { status: 500 })
      },
    })
    renameSync(first, path)
    const made = statOf(path)?.ino
    return {
      async close() {
        await server.stop(true)
        // By now it may be the socket of another gateway, on a ledger that was put in the place of ours.
        if (statOf(path)?.ino === made) removeSocket(path)
      },
    }
  } finally {
    process.umask(umask)
  }
}

/** True when a gateway answers at the ledger's socket. */
export async function isGatewayRunning(ledgerPath: string): Promise<boolean> {
  const response = await request(socketPathOf(ledgerPath), '/', {})
  return response === 'alive'
}

/** `absent`: no gateway listens. `unavailable`: one does, but its answer did not come or was none of ours. */
export async function operateThroughSocket(ledgerPath: string, operation: Operation): Promise<OperationResult | 'absent'> {
  const text = await request(socketPathOf(ledgerPath), '/operate', { method: 'POST', body: writeOperation(operation) })
  if (text === undefined) return 'absent'
  return readResult(text) ?? { result: 'unavailable' }
}

async function answer(request: Request, ledger: Ledger): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (request.method === 'GET' && pathname === '/') return new Response('alive')
  if (request.method !== 'POST' || pathname !== '/operate') return new Response('no such path', { status: 404 })
  const operation = readOperation(await request.text())
  if (operation === undefined)
    return Response.json({ result: 'refused', problem: 'the operation has an unknown form' } satisfies OperationResult)
  return Response.json(await ledger.operate(operation))
}

/** The text of the answer; undefined when nobody answers. A socket of another user is nobody. */
async function request(path: string, pathname: string, init: RequestInit): Promise<string | undefined> {
  if (!isOurs(path)) return undefined
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const response = await fetch(`http://localhost${pathname}`, { ...init, unix: path, signal, keepalive: false })
    return await response.text()
  } catch (error) {
    return error instanceof DOMException && error.name === 'TimeoutError' ? '' : undefined
  }
}

function isOurs(path: string): boolean {
  const stat = statOf(path)
  const user = process.getuid?.()
  return stat?.isSocket() === true && (user === undefined || user === 0 || stat.uid === user)
}

/** Undefined also where the folder is none, or closed to us. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) unlinkSync(path)
}
