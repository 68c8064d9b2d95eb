/** The people's file is its owner's alone, made once by however many start at once, and has the tables that better-auth expects. */

import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { getMigrations } from 'better-auth/db/migration'
import { optionsOf } from '../../src/people/identity.ts'
import { openPeopleFile } from '../../src/people/people-file.ts'
import { PeopleWorld } from '../support/people.ts'

let world: PeopleWorld
const fileOf = ({ folder }: PeopleWorld): string => join(folder, 'people.db')
afterEach(() => world.remove())

test('better-auth finds every table and column that it wants, passkeys too', async () => {
  world = new PeopleWorld()
  const { people } = world
  const options = optionsOf({
    sql: people.db,
    listener: 'cabinet',
    origins: people.origins('cabinet'),
    secret: await people.sessions.secretOf('cabinet'),
    isOperator: () => Promise.resolve(true),
    sendReset: undefined,
    onReset: () => Promise.resolve(),
    onBug: () => undefined,
  })
  const file = new Database(fileOf(world))
  const { toBeCreated, toBeAdded } = await getMigrations({ ...options, database: file })
  file.close()
  expect(people.origins('cabinet').passkeyHost).toBe('localhost')
  expect([...toBeCreated, ...toBeAdded]).toEqual([])
})

test('only its owner may read it, its log and its index', () => {
  world = new PeopleWorld()
  for (const suffix of ['', '-wal', '-shm']) expect((statSync(fileOf(world) + suffix).mode & 0o777).toString(8)).toBe('600')
})

test('a second process finds the same secret, and cookies of the first', async () => {
  world = new PeopleWorld()
  const ann = await world.add('ann@example.com')
  const elsewhere = world.open()
  expect(await elsewhere.sessions.secretOf('cabinet')).toBe(await world.people.sessions.secretOf('cabinet'))
  expect(await elsewhere.sessions.secretOf('cabinet')).not.toBe(await elsewhere.sessions.secretOf('console'))
  const [[name, value] = ['', '']] = [...ann.cookies]
  expect((await elsewhere.signedIn('cabinet', `a=b; ${name}=${value}`))?.person.email).toBe('ann@example.com')
  await elsewhere.close()
})

test('a file of a newer program is left alone', async () => {
  world = new PeopleWorld()
  await world.people.db.run('PRAGMA user_version = 99')
  expect(() => openPeopleFile(fileOf(world))).toThrow('newer program')
})
