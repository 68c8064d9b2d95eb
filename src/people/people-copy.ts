/**
 * A copy of the people's file, taken beside a running gateway, and put back with the ledger's. The copy has hashes of passwords, the secret that signs cookies and the
 * secrets of webhooks, so only its owner may read it. Rules: pages.md "People"; ledger.md "Restore".
 */

import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from '../../db/open.ts'
import { setAside } from '../../db/set-aside.ts'
import { openPeopleFile, PEOPLE_VERSION } from './people-file.ts'

/** The path of the people's copy, beside the ledger's copy. */
export const peopleCopyOf = (ledgerCopy: string): string => `${ledgerCopy}.people`

const ENDED = ['session', 'links', 'verification', 'telegram_codes', 'telegram_updates'] as const

export type CopyProblem = Readonly<{ problem: string }>

/** `none`: there are no people yet. After a problem there is no file at `copy`. */
export function backUpPeople(path: string, copy: string): 'made' | 'none' | CopyProblem {
  return existsSync(path) ? (copied(path, copy) ?? 'made') : 'none'
}

/**
 * A checked copy that is ready to take the place of the people's file. `swap` returns the new names of the files that were there; `drop` removes a copy that was not
 * swapped in.
 */
export type ReadyPeople = Readonly<{ swap(): readonly string[]; drop(): void }>

/** `now`: Unix milliseconds. `none`: there is no such copy, and the people's file is to stay as it is. */
export function readyPeople(copy: string, path: string, now: number): ReadyPeople | 'none' | CopyProblem {
  if (!existsSync(copy)) return 'none'
  const made = `${path}.restoring`
  const drop = (): void => rmSync(made, { force: true })
  drop()
  const problem = copied(copy, made)
  if (problem !== undefined) return problem
  endSignIns(made)
  return {
    swap() {
      const aside = setAside(path, ['-wal', '-shm', ''], now)
      renameSync(made, path)
      syncFolder(dirname(path))
      return aside
    },
    drop,
  }
}

/** Makes a whole, flushed and checked copy. Where that fails, no file is left at `to`. */
function copied(from: string, to: string): CopyProblem | undefined {
  try {
    const db = new Database(from, { readonly: true })
    try {
      db.run('PRAGMA busy_timeout = 5000')
      db.query('VACUUM INTO ?').run(to)
    } finally {
      db.close()
    }
    chmodSync(to, 0o600)
    look(to)
    flush(to)
    return undefined
  } catch (error) {
    rmSync(to, { force: true })
    return { problem: `${from} cannot be copied: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** Throws an error that says what is wrong with the file. */
function look(path: string): void {
  const db = new Database(path, { readonly: true })
  try {
    const { user_version: version = 0 } = db.query<{ user_version: number }, []>('PRAGMA user_version').get() ?? {}
    const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE name IN ('person', 'session', 'memberships')").all()
    if (version === 0 || tables.length < 3) throw new Error('it is no file of people')
    if (version > PEOPLE_VERSION) throw new Error('a newer program made it')
    const [found] = db.query<{ integrity_check: string }, []>('PRAGMA integrity_check(1)').all()
    if (found?.integrity_check !== 'ok') throw new Error(`it is damaged (${found?.integrity_check})`)
    if (db.query('PRAGMA foreign_key_check').get() !== null) throw new Error('rows of it name others that are not there')
  } finally {
    db.close()
  }
}

/** Ends all sessions and links in a copy, and what a bot had to do: those that were ended, used or done after it was taken would be valid again. */
function endSignIns(path: string): void {
  // An older copy gets the tables that it lacks.
  const db = openPeopleFile(path)
  try {
    for (const table of ENDED) db.run(`DELETE FROM ${table}`)
  } finally {
    db.close()
  }
  flush(path)
}

function flush(path: string): void {
  const handle = openSync(path, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
