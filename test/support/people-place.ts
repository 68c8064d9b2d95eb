/**
 * Where the people of a test are: a file of their own or, for what was imported after `peopleOnPostgres`, a fresh database. So each test of theirs runs on
 * both stores.
 */

import { afterAll, beforeAll, beforeEach } from 'bun:test'
import { join } from 'node:path'
import type { PeoplePlace } from '../../src/people/open-people.ts'
import { postgres } from './postgres.ts'

/** The most worlds that one test makes. */
const SPARE = 3

let isOnPostgres = false
let empty: string | undefined
const fresh: string[] = []

/** In a `describe` around the tests, before they are declared. */
export function peopleOnPostgres(): void {
  beforeAll(() => {
    isOnPostgres = true
  })
  beforeEach(async () => {
    empty ??= await migrated()
    while (fresh.length < SPARE) fresh.push(await postgres().createDatabase(empty))
  })
  afterAll(() => {
    isOnPostgres = false
  })
}

/** As a first start leaves it: to copy it is quicker than to make its tables again. */
async function migrated(): Promise<string> {
  const url = await postgres().createDatabase()
  const { postgresPeople } = await import('../../src/people/postgres/postgres-people.ts')
  const store = postgresPeople(url)
  await store.all('SELECT id FROM person')
  await store.close()
  return url
}

export function takePeoplePlace(folder: string): PeoplePlace {
  const url = isOnPostgres ? fresh.pop() : undefined
  if (isOnPostgres && url === undefined) throw new Error('no database is left for this test')
  return url === undefined ? { path: join(folder, 'people.db') } : { url }
}
