/**
 * The operator's sockets as files: one beside a ledger in a file, which has one writer; on Postgres one for each process, named by its process id, so that
 * all that serve from this folder are found, also a set that drains beside its successor. Rules: operator.md "Socket".
 */

import { lstatSync, readdirSync, type Stats, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { LedgerConfig } from '../config/config.ts'
import { realPathOf } from '../ledger/sqlite/file-id.ts'

/** The kernel's limit is 108 bytes on Linux and 104 on macOS, with the closing zero, the number of the process and the one behind the name at first. */
const PATH_BYTES_MAX = 92
const END = 'sock'

export type SocketPlace = Pick<LedgerConfig, 'kind' | 'path'>

/** `pid`: null where a ledger has one socket. */
export type SocketFile = Readonly<{ path: string; pid: number | null }>

/** `<ledger>.sock` beside the file itself, whatever link led to it, or a hash of it in the temporary folder where that would be too long. */
export function socketPathOf(ledgerPath: string): string {
  const path = `${realPathOf(ledgerPath)}.${END}`
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path
  const hash = new Bun.CryptoHasher('sha256').update(path).digest('hex').slice(0, 32)
  return join(tmpdir(), `tollgate-${hash}.${END}`)
}

/** The path on which the process `pid` listens. */
export const socketPathFor = (place: SocketPlace, pid: number): string =>
  place.kind === 'sqlite' ? socketPathOf(place.path) : `${stemOf(place)}${pid}.${END}`

/** Those that are there, by number; a socket of another user is none. Whether a process listens shows when it is asked. */
export function socketsOf(place: SocketPlace): readonly SocketFile[] {
  const all = place.kind === 'sqlite' ? [{ path: socketPathOf(place.path), pid: null }] : numbered(stemOf(place))
  return all.filter(({ path }) => isOurs(path))
}

/** Undefined also where the folder is none, or closed to us. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export function removeSocket(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) unlinkSync(path)
}

/** The name until the socket listens. Commands do not look for it. */
export const firstNameOf = (path: string): string => `${path.slice(0, -END.length)}${process.pid}`

const stemOf = ({ path }: SocketPlace): string => socketPathOf(path).slice(0, -END.length)

function numbered(stem: string): readonly SocketFile[] {
  const folder = dirname(stem)
  return namesIn(folder)
    .flatMap((name) => {
      const [, pid] = name.startsWith(basename(stem)) ? (/^(\d{1,10})\.sock$/.exec(name.slice(basename(stem).length)) ?? []) : []
      return pid === undefined ? [] : [{ path: join(folder, name), pid: Number(pid) }]
    })
    .sort((a, b) => a.pid - b.pid)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isOurs(path: string): boolean {
  const stat = statOf(path)
  const user = process.getuid?.()
  return stat?.isSocket() === true && (user === undefined || user === 0 || stat.uid === user)
}
