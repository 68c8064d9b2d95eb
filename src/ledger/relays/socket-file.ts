/** Unix sockets beside a ledger's file, for its owner only. Rules: operator.md "Socket"; processes.md "Relays". */

import { lstatSync, renameSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS, with the closing zero, the number of the process and the one behind the name at first. */
const PATH_BYTES_MAX = 92
/** Only the owner may read and write. */
const UMASK = 0o177

/** `<ledger>.<end>` beside the file, by its path behind any link; if that is too long, a name in the temporary folder with a hash of it. */
export function socketBeside(realPath: string, end: string): string {
  const path = `${realPath}.${end}`
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex').slice(0, 32)
  return join(tmpdir(), `tollgate-${hash}.${end}`)
}

/** Whether the socket is this user's own; another user could otherwise answer in our place. */
export function isOwnSocket(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    const user = process.getuid?.()
    return stat?.isSocket() === true && (user === undefined || stat.uid === user)
  } catch {
    return false
  }
}

/** To be called with the ledger's lock held: any file of this name is then left by a dead process. `listen` gets the name that the socket has at first. */
export function asOwnSocket<T>(path: string, listen: (first: string) => T): T {
  // When Bun stops listening it removes the name that it listened on, even if another process has it by then. Also, a socket that is found must already be listening.
  const first = `${path}.${process.pid}`
  for (const old of [first, path]) removeSocket(old)
  const umask = process.umask(UMASK)
  try {
    const listening = listen(first)
    renameSync(first, path)
    return listening
  } finally {
    process.umask(umask)
  }
}

function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) unlinkSync(path)
}
