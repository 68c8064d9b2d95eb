/**
 * The people's store in a file, on a thread of its own and on the one that asks: a transaction is alone, whole or nothing, and what else is asked meanwhile sees none of
 * its halves; what waits for too long is refused, and never done. Rules: pages.md "People".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PeopleAway, type PeopleSql, type PeopleStore } from '../../src/people/people-sql.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'
import type { TurnLimits } from '../../src/people/turns.ts'
import { startPeopleThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

let folder: string
let store: PeopleStore
let threads: Worker[]
const pathOf = (): string => join(folder, 'people.db')
const startThread = (): Worker => {
  const thread = startPeopleThread()
  threads.push(thread)
  return thread
}
const threaded = (limits?: TurnLimits): PeopleStore => sqlitePeople({ path: pathOf(), startThread }, limits)
const here = (limits?: TurnLimits): PeopleStore => sqlitePeople({ path: pathOf() }, limits)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-people-'))
  threads = []
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

const add = (sql: PeopleSql, name: string) =>
  sql.run('INSERT INTO secrets (name, value) VALUES ($name, $value)', { name, value: Buffer.from([1]) })
const names = async (sql: PeopleSql = store) =>
  (await sql.all<{ name: string }>('SELECT name FROM secrets ORDER BY name')).map(({ name }) => name)
const refusalOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'done',
    (error: unknown) => (error instanceof PeopleAway ? `away: ${error.message}` : error),
  )

describe.each([
  ['on its thread', threaded],
  ['on the thread that asks', here],
] as const)('%s', (_where, open) => {
  const LIMITS: TurnLimits = { waitMs: 60_000, turnMs: 60_000, most: 10 }

  test('what is asked while a transaction is open waits for its end, writes too; the next transaction waits as well', async () => {
    store = open()
    const order: string[] = []
    const held = Promise.withResolvers<void>()
    const first = store.transaction(['account a'], async (sql) => {
      await add(sql, 'a')
      expect(await names(sql)).toEqual(['a'])
      await held.promise
      await sql.transaction(['account a'], (inner) => add(inner, 'b'))
      order.push('first')
    })
    const others = [
      names().then((seen) => order.push(`sees ${seen.join()}`)),
      add(store, 'c').then(() => order.push('writes')),
      store.transaction(['account z'], async (sql) => void order.push(`second sees ${(await names(sql)).length}`)),
    ]
    await Bun.sleep(10)
    expect(order).toEqual([])
    held.resolve()
    await Promise.all([first, ...others])
    expect([order[0], order.slice(1, 3).toSorted(), order[3]]).toEqual(['first', ['sees a,b', 'writes'], 'second sees 3'])
    expect(await names()).toEqual(['a', 'b', 'c'])
  })

  test('what throws leaves nothing, and the next goes on', async () => {
    store = open()
    const failing = store.transaction(['account a'], async (sql) => {
      await add(sql, 'a')
      throw new Error('a bug')
    })
    await expect(failing).rejects.toThrow('a bug')
    const twice = add(store, 'b').then(() => add(store, 'b'))
    await expect(twice).rejects.toMatchObject({ name: 'SQLiteError', code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
    await expect(twice).rejects.toThrow('UNIQUE')
    expect(await names()).toEqual(['b'])
  })

  test('bytes, numbers, texts and nulls come back as they went', async () => {
    store = open()
    const given = { bytes: new Uint8Array([0, 255]), number: 2 ** 53 - 1, fraction: 0.5, text: 'ü\u0000"', none: null }
    const texts = Object.keys(given).map((name) => `$${name} AS "${name}"`)
    expect(await store.get(`SELECT ${texts.join()}`, given)).toEqual(given)
  })

  test('a transaction that does not end leaves nothing, what it asks then is refused, and the others go on', async () => {
    const limits = { ...LIMITS }
    store = open(limits)
    const later = Promise.withResolvers<void>()
    let asked: Promise<unknown> | undefined
    // On a busy machine a turn may be over before it has come so far.
    for (let turnMs = 50; asked === undefined; turnMs *= 2) {
      limits.turnMs = turnMs
      const stuck = store.transaction(['account a'], async (sql) => {
        await add(sql, 'a')
        asked = later.promise.then(() => refusalOf(add(sql, 'later')))
        await asked
      })
      expect(await refusalOf(stuck)).toBe('away: it does not answer')
    }
    limits.turnMs = LIMITS.turnMs
    await add(store, 'b')
    later.resolve()
    expect(await asked).toBe('away: its transaction has ended')
    expect(await names()).toEqual(['b'])
  })

  test('who would wait for too long is refused, as are those who are too many, and what they asked is never done', async () => {
    const limits = { ...LIMITS, most: 2 }
    store = open(limits)
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = store.transaction([], () => {
      begun.resolve()
      return held.promise
    })
    await begun.promise
    limits.waitMs = 50
    const waiting = [add(store, 'a'), store.transaction([], (sql) => add(sql, 'b')), add(store, 'c')].map(refusalOf)
    expect(await waiting[2]).toBe('away: too many wait for it')
    expect(await Promise.all(waiting.slice(0, 2))).toEqual(['away: others have it for too long', 'away: others have it for too long'])
    limits.waitMs = LIMITS.waitMs
    held.resolve()
    await first
    expect(await names()).toEqual([])
  })
})

test('while another connection holds the file, the loop goes on; what waited is done when it lets go', async () => {
  store = threaded()
  expect(await names()).toEqual([])
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const order: string[] = []
  const writing = [add(store, 'a').then(() => order.push('written')), store.transaction([], (sql) => add(sql, 'b'))]
  await Bun.sleep(20)
  order.push('the loop')
  other.run('COMMIT')
  other.close()
  await Promise.all(writing)
  expect(order).toEqual(['the loop', 'written'])
  expect(await names()).toEqual(['a', 'b'])
})

test('a file that another connection does not let go is away', async () => {
  store = threaded()
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  expect(await Promise.all([add(store, 'a'), names()].map(refusalOf))).toEqual(['away: database is locked', 'done'])
  other.close()
  await add(store, 'a')
})

test('a thread that dies takes its transaction with it: nothing of it stays, nothing more of it is done, and another thread goes on', async () => {
  store = threaded()
  const dying = store.transaction([], async (sql) => {
    await add(sql, 'a')
    const died = new Promise((resolve) => threads[0]?.addEventListener('close', resolve))
    threads[0]?.terminate()
    await died
    // By now there is another thread for what is asked next.
    await until(async () => (await refusalOf(add(sql, 'b'))) === 'away: its transaction is gone')
  })
  await expect(dying).rejects.toThrow()
  expect(await names()).toEqual([])
  expect(threads).toHaveLength(2)
})

test('what a thread that dies was asked fails as a bug, so that it is told', async () => {
  store = threaded()
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const asked = add(store, 'a')
  threads[0]?.terminate()
  await expect(asked).rejects.toThrow('the thread of the people has died')
  other.close()
  await until(async () => (await refusalOf(names())) === 'done')
  expect(await names()).toEqual([])
})

test('a file that cannot be opened fails each question until it can', async () => {
  store = threaded()
  const newer = new Database(pathOf())
  newer.run('PRAGMA user_version = 99')
  await expect(names()).rejects.toThrow('newer program')
  newer.run('PRAGMA user_version = 0')
  newer.close()
  expect(await names()).toEqual([])
  expect(threads).toHaveLength(1)
})

test('no thread starts before the first question, nor after the end', async () => {
  store = threaded()
  expect(threads).toEqual([])
  await store.close()
  expect(await refusalOf(names())).toBe('away: their thread has ended')
  expect(threads).toEqual([])
})

test('an end does not wait for a connection that holds the file', async () => {
  store = threaded()
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const asked = refusalOf(add(store, 'a'))
  await store.close()
  expect(await asked).toBe('away: the gateway ends')
  other.close()
})
