/** `tollgate backup`: a whole copy that is in order, the people's beside it, for their owner only, which overwrites nothing. Rules: ledger.md "Files"; operator.md "Commands". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Memberships } from '../../src/people/memberships.ts'
import { openPeopleFile, peoplePathOf } from '../../src/people/people-file.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'
import { NOW, Workplace } from './run.ts'

let place: Workplace
beforeEach(async () => {
  place = new Workplace()
  await place.json('keys', 'create', '--name', 'app', '--balance', '25')
})
afterEach(() => place.remove())

test('backup makes a whole copy for its owner only, and overwrites nothing', async () => {
  const copy = join(place.folder, 'copy.db')
  expect(await place.json('backup', 'copy.db')).toEqual({
    ok: true,
    file: copy,
    bytes: statSync(copy).size,
    people: null,
    people_problem: null,
    data: [],
  })
  expect(statSync(copy).mode & 0o077).toBe(0)
  place.write('copy.toml', '[ledger]\npath = "copy.db"\n')
  expect(await place.json('keys', 'show', 'app', '--config', 'copy.toml')).toMatchObject({ name: 'app', balance_usd: 25 })
  expect(await place.json('verify', '--config', 'copy.toml')).toEqual({ ok: true, data: [] })
  expect(await place.run('backup', 'copy.db')).toMatchObject({ code: 2, err: expect.stringContaining('exists already') })
})

test('finished answers are in no copy', async () => {
  writeFileSync(`${place.ledgerPath}.answers`, 'sealed')
  await place.json('backup', 'copy.db')
  expect(readdirSync(place.folder).filter((name) => name.includes('copy.db'))).toEqual(['copy.db'])
  expect(readFileSync(join(place.folder, 'copy.db'), 'latin1')).not.toContain('sealed')
})

test('people read where the copy is and that it is in order', async () => {
  const { code, out, err } = await place.run('backup', 'copy.db')
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^The ledger was copied to .*copy\.db \(\d+ bytes\), and the copy is in order\.\nThere are no people to copy\.\n$/)
})

test('a copy whose rows differ is made, and is 1 with the rows', async () => {
  const db = new Database(place.ledgerPath)
  db.run('UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1')
  db.close()
  expect(await place.run('backup', 'copy.db')).toMatchObject({ code: 1, out: expect.stringContaining('but rows of it differ:\nRULE') })
  const { code, out } = await place.run('backup', 'again.db', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([1, { ok: false, file: join(place.folder, 'again.db') }])
})

test('the people are copied beside it, with what is still in their log, for their owner only', async () => {
  const people = sqlitePeople({ path: peoplePathOf(place.ledgerPath) })
  const memberships = new Memberships(people, () => NOW)
  await memberships.add({ email: 'ann@example.com', name: 'Ann', isProven: true })
  const copy = join(place.folder, 'copy.db.people')
  expect(await place.json('backup', 'copy.db')).toMatchObject({ ok: true, people: copy, people_problem: null })
  expect(statSync(copy).mode & 0o077).toBe(0)
  await people.close()
  const copied = sqlitePeople({ path: copy })
  expect(await new Memberships(copied, () => NOW).byEmail('ann@example.com')).toMatchObject({ name: 'Ann' })
  await copied.close()
  rmSync(join(place.folder, 'copy.db'))
  // A copy that a crash left without its ledger is not written over either.
  expect(await place.run('backup', 'copy.db')).toMatchObject({ code: 2, err: expect.stringContaining('copy.db.people exists already') })
  expect((await place.run('backup', 'other.db')).out).toMatch(/The people were copied to .*other\.db\.people: .*secrets of webhooks/)
})

test('people that cannot be copied are said, and the money is copied all the same', async () => {
  writeFileSync(peoplePathOf(place.ledgerPath), 'no database'.repeat(500))
  const { code, out } = await place.run('backup', 'copy.db', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    { ok: false, people: null, people_problem: expect.stringContaining('cannot be copied'), data: [] },
  ])
  expect(existsSync(join(place.folder, 'copy.db.people'))).toBeFalse()
  expect(await place.run('backup', 'again.db')).toMatchObject({ code: 1, out: expect.stringContaining('The people were not copied: ') })
  expect((await place.run('restore', 'again.db')).code).toBe(0)
})

test('where no ledger is, no people are left either', async () => {
  openPeopleFile(peoplePathOf(place.ledgerPath)).close()
  rmSync(place.ledgerPath)
  expect((await place.run('backup', 'copy.db')).code).toBe(3)
  expect(readdirSync(place.folder).filter((name) => name.startsWith('copy.db'))).toEqual([])
})

test('where no file can be, nothing is made and it is wrong use', async () => {
  place.write('file', '')
  const { code, out, err } = await place.run('backup', 'file/copy.db')
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/^tollgate: .*file\/copy\.db cannot be opened.*\n$/)
  expect(await place.run('backup')).toMatchObject({ code: 2, err: expect.stringContaining("missing required argument 'FILE'") })
  expect(existsSync(join(place.folder, 'file/copy.db'))).toBeFalse()
})
