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

test('a file of an older program keeps its deliveries, and takes those to chats', async () => {
  world = new PeopleWorld()
  const path = join(world.folder, 'older.db')
  const older = new Database(path)
  for (const name of ['schema', 'alerts']) older.run(await Bun.file(`src/people/${name}.sql`).text())
  older.run('PRAGMA user_version = 2')
  older.run("INSERT INTO alert_events (id, account_id, alert_id, body, created_at) VALUES ('evt_1', 'acc_1', NULL, '{}', 1)")
  const deliver = "INSERT INTO deliveries (event_id, account_id, channel, target, next_at, attempts) VALUES ('evt_1', 'acc_1'"
  older.run(`${deliver}, 'email', 'a@example.com', 7, 3)`)
  older.close()
  const file = openPeopleFile(path)
  file.run(`${deliver}, 'telegram', '7', 8, 0)`)
  expect(() => file.run(`${deliver}, 'pigeon', '7', 8, 0)`)).toThrow('CHECK')
  const rows = file.query('SELECT number, channel, target, next_at AS next, attempts, state FROM deliveries ORDER BY number').all()
  file.close()
  expect(rows).toEqual([
    { number: 1, channel: 'email', target: 'a@example.com', next: 7, attempts: 3, state: 'waiting' },
    { number: 2, channel: 'telegram', target: '7', next: 8, attempts: 0, state: 'waiting' },
  ])
})

test('a file of a newer program is left alone', async () => {
  world = new PeopleWorld()
  await world.people.db.run('PRAGMA user_version = 99')
  expect(() => openPeopleFile(fileOf(world))).toThrow('newer program')
})
