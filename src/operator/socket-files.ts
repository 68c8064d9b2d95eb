/**
 * The operator's sockets as files. A ledger in a file has one for its writer, beside the file. Each relay of it, and on Postgres each process, has one that is named by
 * its process id, so that all processes that serve from this folder are found, also a set that drains beside its successor. Rules: operator.md "Socket".
 */

import { lstatSync, readdirSync, type Stats, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { LedgerConfig } from '../config/config.ts'
import { socketBeside } from '../ledger/relays/socket-file.ts'
import { realPathOf } from '../ledger/sqlite/file-id.ts'

const END = 'sock'

/** `part`: which of several processes on one file it is. */
export type SocketPlace = Pick<LedgerConfig, 'kind' | 'path'> & Readonly<{ part?: 'ledger process' | 'relay' }>

/** `pid`: null for the process that has the lock of a ledger in a file. */
export type SocketFile = Readonly<{ path: string; pid: number | null }>

/** `<ledger>.sock` beside the file itself, whatever link led to it; where that path would be too long, a hash of it in the temporary folder. */
export const socketPathOf = (ledgerPath: string): string => socketBeside(realPathOf(ledgerPath), END)

/** The path on which the process `pid` listens. */
export const socketPathFor = (place: SocketPlace, pid: number): string =>
  place.kind === 'sqlite' && place.part !== 'relay' ? socketPathOf(place.path) : `${stemOf(place)}${pid}.${END}`

/** The sockets that exist, by process id; sockets of other users are left out. Whether a process still listens shows when it is asked. */
export function socketsOf(place: SocketPlace): readonly SocketFile[] {
  const writer = place.kind === 'sqlite' ? [{ path: socketPathOf(place.path), pid: null }] : []
  const all = [...writer, ...numbered(stemOf(place))]
  return all.filter(({ path }) => isOurs(path))
}

/** Undefined also where the folder does not exist or is closed to us. */
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

/** The socket's name until it listens. Commands do not look for this name. */
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
