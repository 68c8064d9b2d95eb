/** Unix sockets beside a ledger's file, for its owner only. Rules: operator.md "Socket"; processes.md "Relays". */

import { lstatSync, renameSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS, with the closing zero, the number of the process and the one behind the name at first. */
const PATH_BYTES_MAX = 92
/** Only the owner may read and write. */
const UMASK = 0o177

/** `<ledger>.<end>` beside the file itself, whose path is not that of a link, or a hash of it in the temporary folder where that would be too long. */
export function socketBeside(realPath: string, end: string): string {
  const path = `${realPath}.${end}`
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex').slice(0, 32)
  return join(tmpdir(), `tollgate-${hash}.${end}`)
}

/** The socket of another user, who could answer in ours' place, is none. */
export function isOwnSocket(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    const user = process.getuid?.()
    return stat?.isSocket() === true && (user === undefined || stat.uid === user)
  } catch {
    return false
  }
}

/** Whatever has the name belongs to a dead process: to be called with the ledger's lock held. `listen` gets the name that the socket is to have at first. */
export function asOwnSocket<T>(path: string, listen: (first: string) => T): T {
  // Bun takes away the name that it listens on when it stops, whose ever it is by then; and who is found is to be listening.
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
