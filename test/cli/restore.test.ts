/** `tollgate restore`: a verified copy takes the ledger's place whole, the people's with it, and what was there is kept beside it. Rules: ledger.md "Restore". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { closeSync, copyFileSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { restoreLedger } from '../../src/ledger/restore.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { tryLock } from '../../src/ledger/writing/flock.ts'
import { listenOnOperatorSocket } from '../../src/operator/operator-socket.ts'
import { socketPathOf } from '../../src/operator/socket-files.ts'
import { Links } from '../../src/people/links.ts'
import { Memberships } from '../../src/people/memberships.ts'
import { readyPeople } from '../../src/people/people-copy.ts'
import { peoplePathOf } from '../../src/people/people-file.ts'
import type { PeopleStore } from '../../src/people/people-sql.ts'
import { Sessions } from '../../src/people/sessions.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'
import { startThread } from '../support/threads.ts'
import { NOW, Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

/** Oldest first. */
const names = async (): Promise<readonly unknown[]> =>
  (await place.json<{ data: { name: string }[] }>('accounts', 'list')).data.map(({ name }) => name).toReversed()
const filesBeside = (): readonly string[] => readdirSync(dirname(place.ledgerPath)).sort()

async function backedUp(): Promise<void> {
  await place.json('accounts', 'create', 'early')
  await place.json('backup', 'copy.db')
  await place.json('accounts', 'create', 'late')
}

test('a copy takes the place of the ledger, and what was there is kept under a name with the time', async () => {
  await backedUp()
  // Relays of the old ledger may have kept charges of it, which are later than the copy.
  const spill = '.01a21a65-7c74.spill'
  writeFileSync(`${place.ledgerPath}${spill}`, '')
  const restored = await place.json<{ set_aside: string[] }>('restore', 'copy.db')
  expect(restored).toMatchObject({ ok: true, ledger: place.ledgerPath, bytes: statSync(place.ledgerPath).size })
  const old = `${place.ledgerPath}.20261121T120000Z`
  expect(restored.set_aside.at(-1)).toBe(old)
  expect(restored.set_aside[0]).toBe(`${old}${spill}`)
  // A reader leaves an empty log behind.
  expect(restored.set_aside.slice(1).filter((path) => ![old, `${old}-wal`, `${old}-shm`].includes(path))).toEqual([])
  expect(await names()).toEqual(['early'])
  expect(statSync(place.ledgerPath).mode & 0o077).toBe(0)
  place.write('old.toml', `[ledger]\npath = ${JSON.stringify(old)}\n`)
  const { data } = await place.json<{ data: { name: string }[] }>('accounts', 'list', '--config', 'old.toml')
  expect(data.map(({ name }) => name)).toEqual(['late', 'early'])
  expect(existsSync(join(place.folder, 'copy.db'))).toBeTrue()
  // The restored ledger is one to write to.
  await place.json('accounts', 'create', 'later')
  expect(await names()).toEqual(['early', 'later'])
})

test('an older copy that is put in place by hand is refused, and so is a ledger that is gone, until it is restored', async () => {
  await backedUp()
  const sound = readFileSync(place.ledgerPath)
  copyFileSync(join(place.folder, 'copy.db'), place.ledgerPath)
  const older = await place.run('accounts', 'create', 'more')
  expect(older).toMatchObject({ code: 3, out: '' })
  expect(older.err).toMatch(
    /tollgate: .* it has 1 of the 2 receipts and audit lines that the last process left; put back what is missing, or `tollgate restore FILE` a backup/,
  )
  rmSync(place.ledgerPath)
  copyFileSync(join(place.folder, 'copy.db'), place.ledgerPath)
  expect((await place.run('accounts', 'create', 'more')).err).toMatch(/has lost|is an older copy/)
  rmSync(place.ledgerPath)
  expect(await place.run('accounts', 'create', 'more')).toMatchObject({ code: 3, err: expect.stringContaining('is gone; put back') })
  expect(existsSync(place.ledgerPath)).toBeFalse()
  writeFileSync(place.ledgerPath, sound, { mode: 0o600 })
  await place.json('accounts', 'create', 'more')
  rmSync(place.ledgerPath)
  await place.json('restore', 'copy.db')
  await place.json('accounts', 'create', 'again')
  expect(await names()).toEqual(['early', 'again'])
})

test('another ledger in the place of this one is refused', async () => {
  await backedUp()
  const other = new Workplace()
  for (let n = 0; n < 5; n++) await other.json('accounts', 'create', `other ${n}`)
  copyFileSync(other.ledgerPath, place.ledgerPath)
  other.remove()
  expect(await place.run('accounts', 'create', 'more')).toMatchObject({ code: 3, err: expect.stringContaining('is another ledger') })
})

/** The people's file as a command or a gateway opens it, for one look. */
async function withPeople<T>(look: (store: PeopleStore, memberships: Memberships) => Promise<T>): Promise<T> {
  const store = sqlitePeople({ path: peoplePathOf(place.ledgerPath) })
  try {
    return await look(store, new Memberships(store, () => NOW))
  } finally {
    await store.close()
  }
}
const addPerson = (email: string): Promise<void> =>
  withPeople(async (store, memberships) => {
    const person = await memberships.add({ email, name: '', isProven: true })
    await new Sessions(store, () => NOW).start('cabinet', person.id, { address: '', userAgent: '' }, false)
    await new Links(store, memberships, () => NOW).signIn('cabinet', person.id)
  })
const emails = (): Promise<readonly string[]> => withPeople(async (_, memberships) => (await memberships.list()).map(({ email }) => email))
const countOf = (table: 'session' | 'links'): Promise<number> =>
  withPeople(async (store) => (await store.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))?.n ?? -1)

test('the people come back with the ledger, all signed out, and those that were there are kept; without their copy they stay', async () => {
  await addPerson('early@example.com')
  await backedUp()
  await addPerson('late@example.com')
  expect([await countOf('session'), await countOf('links')]).toEqual([2, 2])
  const path = peoplePathOf(place.ledgerPath)
  const restored = await place.json<{ set_aside: string[] }>('restore', 'copy.db')
  expect(restored).toMatchObject({ people: path })
  expect(restored.set_aside).toContain(`${path}.20261121T120000Z`)
  expect([await emails(), await names()]).toEqual([['early@example.com'], ['early']])
  expect([await countOf('session'), await countOf('links')]).toEqual([0, 0])
  expect(statSync(path).mode & 0o077).toBe(0)
  const kept = new Database(`${path}.20261121T120000Z`)
  expect(kept.query('SELECT email FROM person ORDER BY email').values()).toEqual([['early@example.com'], ['late@example.com']])
  kept.close()

  rmSync(join(place.folder, 'copy.db.people'))
  await addPerson('later@example.com')
  place.now += 60_000
  const alone = await place.run('restore', 'copy.db')
  expect(alone).toMatchObject({ code: 0, out: expect.stringContaining('copy.db.people: the people stay as they are.') })
  expect([await emails(), await countOf('session')]).toEqual([['early@example.com', 'later@example.com'], 1])
})

test('a copy of the people that is none, is damaged or is a newer program’s changes nothing, of the ledger neither', async () => {
  await addPerson('early@example.com')
  await backedUp()
  const copy = join(place.folder, 'copy.db.people')
  const sound = readFileSync(copy)
  const newer = new Database(copy)
  newer.run('PRAGMA user_version = 99')
  newer.close()
  const bad = { newer: readFileSync(copy), none: Buffer.from('notes'.repeat(2_000)), ledger: readFileSync(join(place.folder, 'copy.db')) }
  for (const [what, bytes] of Object.entries({ ...bad, damaged: Buffer.from(sound).fill(0xa5, 4_096 * 2, 4_096 * 12) })) {
    writeFileSync(copy, bytes)
    const refused = await place.run('restore', 'copy.db')
    expect({ what, ...refused }).toMatchObject({ what, code: 3, err: expect.stringContaining('nothing was changed') })
    expect([await names(), await emails()]).toEqual([['early', 'late'], ['early@example.com']])
  }
  expect(filesBeside().filter((name) => /restoring|Z$/.test(name))).toEqual([])
})

test('an end in the middle leaves a start that is refused, and the same again restores both', async () => {
  await addPerson('early@example.com')
  await backedUp()
  await addPerson('late@example.com')
  const copy = join(place.folder, 'copy.db')
  const ready = readyPeople(`${copy}.people`, peoplePathOf(place.ledgerPath), NOW)
  if (ready === 'none' || 'problem' in ready) throw new Error('no copy')
  const dies = {
    ...ready,
    swap: () => {
      ready.swap()
      throw new Error('killed')
    },
  }
  expect(() => restoreLedger(place.ledgerPath, copy, NOW, () => dies)).toThrow('killed')
  expect(await emails()).toEqual(['early@example.com'])
  expect(await place.run('accounts', 'create', 'more')).toMatchObject({ code: 3, err: expect.stringContaining('is gone; put back') })
  place.now += 60_000
  expect((await place.run('restore', 'copy.db')).code).toBe(0)
  expect([await emails(), await names()]).toEqual([['early@example.com'], ['early']])
})

test('a copy that is no ledger, is damaged or is not in order changes nothing', async () => {
  await backedUp()
  const before = readFileSync(place.ledgerPath)
  place.write('notes.db', 'notes\n'.repeat(2_000))
  const copy = join(place.folder, 'copy.db')
  const bytes = readFileSync(copy)
  writeFileSync(join(place.folder, 'damaged.db'), bytes.fill(0xa5, 4_096 * 2, 4_096 * 12))
  const db = new Database(copy)
  db.run("UPDATE accounts SET credited_picos = 5, balance_picos = 5 WHERE name = 'early'")
  db.close()
  expect((await place.run('restore', 'nothing.db')).code).toBe(2)
  expect((await place.run('restore', place.ledgerPath)).code).toBe(2)
  expect((await place.run('restore', 'notes.db')).code).toBe(3)
  expect([1, 3]).toContain((await place.run('restore', 'damaged.db')).code)
  const differs = await place.run('restore', 'copy.db')
  expect(differs).toMatchObject({ code: 1, out: expect.stringContaining('nothing was changed') })
  expect(readFileSync(place.ledgerPath).equals(before)).toBeTrue()
  expect(filesBeside().filter((name) => !/^tollgate\.db(-wal|-shm|\.mark)?$/.test(name))).toEqual([])
})

test('beside a gateway it refuses, also when the gateway’s file was removed', async () => {
  await backedUp()
  const opened = await openLedger({ path: place.ledgerPath, create: false, bootId: 'gateway', startThread, now: () => NOW })
  if ('problem' in opened) throw new Error(opened.message)
  // A process that holds the ledger without a socket.
  expect(await place.run('restore', 'copy.db')).toMatchObject({ code: 3, err: expect.stringContaining(`in use by pid ${process.pid}`) })
  const socket = listenOnOperatorSocket(socketPathOf(place.ledgerPath), opened.ledger)
  expect(await place.run('restore', 'copy.db')).toMatchObject({ code: 3, err: expect.stringContaining('a gateway is running') })
  rmSync(place.ledgerPath)
  expect(await place.run('restore', 'copy.db')).toMatchObject({ code: 3, err: expect.stringContaining('a gateway is running') })
  await socket.close()
  await opened.ledger.close()
  expect(filesBeside().filter((name) => name.includes('restoring'))).toEqual([])
  expect((await place.run('restore', 'copy.db')).code).toBe(0)
})

test('of two at once the second refuses, and what the first is copying stays as it is', async () => {
  await backedUp()
  const making = `${place.ledgerPath}.restoring`
  const folder = openSync(dirname(place.ledgerPath), 'r')
  expect(tryLock(folder)).toBe(true)
  writeFileSync(making, 'half')
  expect(await place.run('restore', 'copy.db')).toMatchObject({ code: 3, err: expect.stringContaining('in use by another process') })
  expect(readFileSync(making, 'utf8')).toBe('half')
  expect(await names()).toEqual(['early', 'late'])
  closeSync(folder)
  expect((await place.run('restore', 'copy.db')).code).toBe(0)
})

test('a ledger that cannot be read any more is named by backup, and its log and spill go aside with it', async () => {
  await backedUp()
  const bytes = readFileSync(place.ledgerPath)
  writeFileSync(place.ledgerPath, bytes.fill(0xa5, 4_096 * 14))
  const failed = await place.run('backup', 'second.db')
  expect(failed).toMatchObject({ code: 3, out: '' })
  expect(failed.err).toContain(`${place.ledgerPath} is not a sound ledger`)
  expect(failed.err).toContain('tollgate restore FILE')
  expect(failed.err).not.toContain('second.db is')
  for (const suffix of ['-wal', '-shm', '.spill', '.answers', '.answers-wal']) writeFileSync(place.ledgerPath + suffix, 'of the old one')
  const { set_aside } = await place.json<{ set_aside: string[] }>('restore', 'copy.db')
  expect(set_aside.map((path) => path.split('T120000Z')[1])).toEqual(['-wal', '-shm', '.spill', '.answers-wal', '.answers', ''])
  expect(await names()).toEqual(['early'])
})
