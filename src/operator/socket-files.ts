/**
 * The operator's sockets as files: one beside a ledger in a file, which has one writer; one for each of its relays, and on Postgres for each process, named by its process id, so that
 * all that serve from this folder are found, also a set that drains beside its successor. Rules: operator.md "Socket".
 */

import { lstatSync, readdirSync, type Stats, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { LedgerConfig } from '../config/config.ts'
import { socketBeside } from '../ledger/relays/socket-file.ts'
import { realPathOf } from '../ledger/sqlite/file-id.ts'

const END = 'sock'

/** `part`: of one of several processes on a file. */
export type SocketPlace = Pick<LedgerConfig, 'kind' | 'path'> & Readonly<{ part?: 'ledger process' | 'relay' }>

/** `pid`: null of the process that has the lock of a ledger in a file. */
export type SocketFile = Readonly<{ path: string; pid: number | null }>

/** `<ledger>.sock` beside the file itself, whatever link led to it, or a hash of it in the temporary folder where that would be too long. */
export const socketPathOf = (ledgerPath: string): string => socketBeside(realPathOf(ledgerPath), END)

/** The path on which the process `pid` listens. */
export const socketPathFor = (place: SocketPlace, pid: number): string =>
  place.kind === 'sqlite' && place.part !== 'relay' ? socketPathOf(place.path) : `${stemOf(place)}${pid}.${END}`

/** Those that are there, by number; a socket of another user is none. Whether a process listens shows when it is asked. */
export function socketsOf(place: SocketPlace): readonly SocketFile[] {
  const writer = place.kind === 'sqlite' ? [{ path: socketPathOf(place.path), pid: null }] : []
  const all = [...writer, ...numbered(stemOf(place))]
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
