/**
 * Many who ask the people's file at once: questions go to its thread without waiting for each other, so that strangers hold up nobody; a transaction is alone; a question
 * that was refused for its wait is never done, also where it waits on the thread; a thread that does not start leaves the line free. Rules: pages.md "People".
 */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PeopleAway, type PeopleSql, type PeopleStore } from '../../src/people/people-sql.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'
import { Progress, type ToPeopleThread } from '../../src/people/task.ts'
import { startPeopleThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

let folder: string
let store: PeopleStore
let sent: ToPeopleThread[]
const pathOf = (): string => join(folder, 'people.db')
/** The thread, of which it is kept what it is sent. */
const startThread = (): Worker => {
  const thread = startPeopleThread()
  const send = thread.postMessage.bind(thread)
  thread.postMessage = (message: ToPeopleThread) => {
    sent.push(message)
    send(message)
  }
  return thread
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-people-'))
  sent = []
  store = sqlitePeople({ path: pathOf(), startThread })
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
/** Whether the thread has begun the last question that it was sent. */
function hasBegun(): boolean {
  const last = sent.at(-1)
  const [begun = 0n] = new BigInt64Array(
    sent.flatMap((message) => (message.kind === 'open' ? [message.progress] : []))[0] ?? new SharedArrayBuffer(8),
  )
  return last !== undefined && last.kind !== 'open' && begun >= BigInt(last.number)
}
const STRANGERS = 3_000

test('thousands who ask at once are all answered, in their order, as is who comes after them', async () => {
  const order: number[] = []
  const strangers = Array.from({ length: STRANGERS }, async (_, at) => {
    const { rows } = await store.ask('SELECT $at AS at', { at })
    order.push((rows[0] as { at: number }).at)
  })
  const person = add(store, 'person').then(() => 'in')
  // All are with the thread by now: none waits for another's answer.
  expect(sent.filter(({ kind }) => kind === 'ask')).toHaveLength(STRANGERS + 1)
  expect(await person).toBe('in')
  await Promise.all(strangers)
  expect(order).toEqual(Array.from({ length: STRANGERS }, (_, at) => at))
})

test('thousands who wait for a connection that holds the file are all answered when it lets go', async () => {
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const writing = add(store, 'first')
  const strangers = Array.from({ length: STRANGERS }, () => refusalOf(names()))
  other.run('COMMIT')
  other.close()
  await writing
  expect(new Set(await Promise.all(strangers))).toEqual(new Set(['done']))
})

test('nothing of others is between the statements of a transaction, whatever is asked before, within and behind it', async () => {
  const held = Promise.withResolvers<void>()
  const others: Promise<unknown>[] = []
  const ask = (name: string): void => void others.push(add(store, name))
  ask('before')
  const first = store.transaction([], async (sql) => {
    await add(sql, 'one.1')
    ask('within')
    await held.promise
    await add(sql, 'one.2')
  })
  const second = store.transaction([], async (sql) => {
    await add(sql, 'two.1')
    ask('within the second')
    await add(sql, 'two.2')
  })
  ask('behind')
  held.resolve()
  await Promise.all([first, second])
  await Promise.all(others)
  const asked = sent.flatMap((message) => {
    if (message.kind !== 'ask') return []
    const name = message.given['name']
    return [typeof name === 'string' ? name : message.text]
  })
  const one = ['BEGIN IMMEDIATE', 'one.1', 'one.2', 'COMMIT']
  const two = ['BEGIN IMMEDIATE', 'two.1', 'two.2', 'COMMIT']
  expect(asked).toEqual(['before', ...one, ...two, 'behind', 'within', 'within the second'])
})

test('what waits on the thread for too long is refused and never done, a transaction too', async () => {
  await store.close()
  const limits = { waitMs: 60_000, turnMs: 60_000, most: 10 }
  store = sqlitePeople({ path: pathOf(), startThread }, limits)
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const first = add(store, 'first')
  await until(hasBegun)
  limits.waitMs = 50
  const waiting = [add(store, 'a'), store.transaction([], (sql) => add(sql, 'b')), add(store, 'c')].map(refusalOf)
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 3 }, () => 'away: others have it for too long'))
  other.run('COMMIT')
  other.close()
  await first
  limits.waitMs = 60_000
  await store.transaction([], (sql) => add(sql, 'last'))
  expect(await names()).toEqual(['first', 'last'])
})

test('a question is begun or given up, never both', () => {
  const main = new Progress()
  const thread = new Progress(main.buffer)
  expect([thread.begin(1), main.giveUp(1)]).toEqual([true, false])
  expect([main.giveUp(3), thread.begin(2), thread.begin(3), thread.begin(4)]).toEqual([true, false, false, true])
  expect([main.giveUp(2), main.giveUp(6), main.giveUp(5), thread.begin(6)]).toEqual([false, true, true, false])
})

test('a thread that cannot be started, or sent to, fails its question and keeps no one waiting', async () => {
  await store.close()
  const faults = ['no thread', 'no message', 'no message']
  const failing = (): Worker => {
    if (faults[0] === 'no thread') throw new Error(faults.shift())
    const thread = startThread()
    const send = thread.postMessage.bind(thread)
    thread.postMessage = (message: ToPeopleThread) => {
      const fault = message.kind === 'ask' ? faults.shift() : undefined
      if (fault !== undefined) throw new Error(fault)
      send(message)
    }
    return thread
  }
  store = sqlitePeople({ path: pathOf(), startThread: failing })
  await expect(names()).rejects.toThrow('no thread')
  await expect(names()).rejects.toThrow('no message')
  await expect(store.transaction([], (sql) => add(sql, 'a'))).rejects.toThrow('no message')
  await store.transaction([], (sql) => add(sql, 'b'))
  expect(await names()).toEqual(['b'])
})

test('of what a thread that dies was asked the oldest is a bug, and the others are to be asked again', async () => {
  await store.close()
  let thread: Worker | undefined
  store = sqlitePeople({
    path: pathOf(),
    startThread: () => {
      thread = startThread()
      return thread
    },
  })
  await names()
  const other = new Database(pathOf())
  other.run('BEGIN IMMEDIATE')
  const asked = ['a', 'b', 'c'].map((name) => refusalOf(add(store, name)))
  thread?.terminate()
  const [oldest, ...others] = await Promise.all(asked)
  expect(String(oldest)).toBe('Error: the thread of the people has died')
  expect(others).toEqual(['away: their thread has ended', 'away: their thread has ended'])
  other.close()
})
