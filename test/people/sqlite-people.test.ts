/** The people's store in a file: a transaction is alone, whole or nothing, and what else is asked meanwhile sees none of its halves. Rules: pages.md "People". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PeopleSql, PeopleStore } from '../../src/people/people-sql.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-people-'))
let store: PeopleStore
beforeEach(() => {
  store = sqlitePeople(join(folder, 'people.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const add = (sql: PeopleSql, name: string) =>
  sql.run('INSERT INTO secrets (name, value) VALUES ($name, $value)', { name, value: Buffer.from([1]) })
const names = async (sql: PeopleSql = store) =>
  (await sql.all<{ name: string }>('SELECT name FROM secrets ORDER BY name')).map(({ name }) => name)

test('what is asked while a transaction is open waits for its end, writes too; the next transaction waits as well', async () => {
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
  expect(order[0]).toBe('first')
  expect(order).toContain('sees a,b')
  expect(await names()).toEqual(['a', 'b', 'c'])
})

test('what throws leaves nothing, and the next goes on', async () => {
  const failing = store.transaction(['account a'], async (sql) => {
    await add(sql, 'a')
    throw new Error('a bug')
  })
  await expect(failing).rejects.toThrow('a bug')
  await expect(add(store, 'b').then(() => add(store, 'b'))).rejects.toThrow('UNIQUE')
  expect(await names()).toEqual(['b'])
})
