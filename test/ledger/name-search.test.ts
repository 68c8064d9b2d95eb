/**
 * Names are found by their beginning, whatever the case of its letters, on both stores: the same that a regular expression finds that minds no case, each once, on however
 * many pages. Rules: operator.md "Lists".
 */

import { expect, test } from 'bun:test'
import { withoutCase } from '../../src/core/letter-case.ts'
import { AccountLists } from '../../src/ledger/reading/account-lists.ts'
import { ConsoleReads } from '../../src/ledger/reading/console-reads.ts'
import { LOOK_UPS_MAX, spellingsIn } from '../../src/ledger/reading/name-search.ts'
import { OrderedLists } from '../../src/ledger/reading/ordered-lists.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { createKey, type Machine, NOW, openMachine, operateTask } from '../support/ledger.ts'
import { postgresTest } from '../support/postgres.ts'
import { copyOf } from '../support/postgres-ledger.ts'
import { type Random, randomFrom, SEED } from '../support/seed.ts'

/** Few letters, so that many names begin alike: with two cases and with three, of one byte and of four, without any, and the marks of SQL. */
const LETTERS = [...'aAkKsSſKäÄßẞσςΣжЖıIİ𐐀𐐨中%_\'"\\']
const TIMEOUT_MS = 120_000

const textOf = (random: Random, most: number): string =>
  Array.from({ length: Math.floor(random() * (most + 1)) }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('')

function named(random: Random, count: number): Machine {
  const machine = openMachine()
  const names = new Set(Array.from({ length: count }, () => textOf(random, 4)))
  for (const [index, name] of [...names].entries()) {
    const accountId = `acc_${index}`
    machine.ask(operateTask({ kind: 'createAccount', accountId, name, topUp: null, now: NOW }))
    machine.ask(operateTask(createKey(`key_${index}`, { accountId, name })))
  }
  return machine
}

type Row = Readonly<{ id: string; name: string }>
type Paged = Readonly<{ rows: readonly Row[]; next: string | null }> | undefined

function walk(page: (after: { after?: string }) => Paged): readonly Row[] {
  const rows: Row[] = []
  for (let after: { after?: string } = {}; ; ) {
    const found = page(after)
    if (found === undefined) throw new Error('no such page')
    rows.push(...found.rows)
    if (found.next === null) return rows
    after = { after: found.next }
  }
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
const sorted = (rows: readonly Row[]): readonly string[] => rows.map(({ name }) => name).toSorted()

function expectFound(db: Connection, random: Random, searches: number): void {
  const [lists, ordered, reads] = [new AccountLists(db), new OrderedLists(db), new ConsoleReads(db)]
  const every = walk(({ after }) => lists.accounts({ after, limit: 1_000 })).map(({ name }) => name)
  for (let n = 0; n < searches; n++) {
    const text = textOf(random, 3)
    const begins = new RegExp(`^${escaped(text)}`, 'iu')
    const wanted = every.filter((name) => begins.test(name)).toSorted()
    const limit = 1 + Math.floor(random() * 40)
    const found: Readonly<Record<string, readonly Row[]>> = {
      'accounts of the command line': walk(({ after }) => lists.accounts({ name: text, after, limit })),
      'keys of the command line': walk(({ after }) => lists.keys({ name: text, after, limit, now: NOW })),
      accounts: walk((after) => reads.accounts({ kind: 'accounts', search: text, limit, ...after })),
      keys: walk((after) => reads.keys({ kind: 'keys', search: text, limit, ...after })),
      'accounts by name': walk((after) => ordered.accounts({ order: 'name', search: text, limit, ...after })),
      'accounts by falling name': walk((after) => ordered.accounts({ order: '-name', search: text, limit, ...after })).toReversed(),
      'keys by name': walk((after) => ordered.keys({ order: 'name', search: text, limit, ...after })),
      'keys by account': walk((after) => ordered.keys({ order: 'account', search: text, limit, ...after })),
      'keys by age': walk((after) => ordered.keys({ order: '-created', search: text, limit, ...after })),
    }
    for (const [what, rows] of Object.entries(found)) {
      expect([what, text, sorted(rows)]).toEqual([what, text, wanted])
      if (!/ by (falling )?(name|account)/.test(what)) continue
      const folded = rows.map(({ name }) => withoutCase(name))
      expect([what, folded]).toEqual([what, folded.toSorted((one, other) => (one < other ? -1 : Number(one > other)))])
    }
  }
}

test(
  'what begins so is found in whatever case, each once, and by name it stands side by side',
  () => {
    const random = randomFrom(SEED)
    const machine = named(random, 250)
    expectFound(machine.db, random, 40)
    machine.close()
  },
  TIMEOUT_MS,
)

postgresTest(
  'the same on Postgres',
  async () => {
    const random = randomFrom(SEED)
    const machine = named(random, 150)
    expectFound(await copyOf(machine.db), random, 15)
    machine.close()
  },
  TIMEOUT_MS,
)

test('a beginning is looked up as often as it is spelled, however many names and ways to spell it there are', () => {
  const machine = openMachine()
  const asked: string[] = []
  const next = machine.db.query<{ name: string }, [string]>(
    'SELECT lower(name) AS name FROM accounts WHERE lower(name) >= ? ORDER BY lower(name) LIMIT 1',
  )
  const get = (text: string) => {
    asked.push(text)
    return next.get(text)
  }
  const counting = { query: () => ({ get }) } as unknown as Connection
  const add = (name: string, count: number) =>
    machine.db.run(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO accounts (id, name, created_at) SELECT 'acc_' || '${name}' || i, '${name}' || i, ${NOW} FROM n`)
  const word = 'äöüäöüäöüäöü'
  for (const name of [word, word.toUpperCase(), 'x', 'Жx']) add(name, 2_000)
  expect([...spellingsIn(counting, 'accounts', word)]).toEqual([word.toUpperCase(), word])
  expect(asked.length).toBeLessThanOrEqual(4)
  // Each way is a name of its own: no more is looked up than is promised.
  for (let n = 0; n < 2 ** 9; n++) {
    const spelled = [...word].map((letter, index) => ((n >> index) & 1 ? letter.toUpperCase() : letter)).join('')
    machine.db.run('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)', [`acc_n${n}`, spelled, NOW])
  }
  asked.length = 0
  const ways = [...spellingsIn(counting, 'accounts', word)]
  expect([asked.length, ways.length <= LOOK_UPS_MAX, new Set(ways).size]).toEqual([LOOK_UPS_MAX, true, ways.length])
  expect(new OrderedLists(machine.db).accounts({ order: 'name', search: word, limit: 9 })?.rows.length).toBe(9)
  expect(new AccountLists(machine.db).accounts({ name: word, after: undefined, limit: 9 }).rows.length).toBe(9)
  machine.close()
})
