/**
 * One random history in a file and copied to Postgres: every question, report and statement is answered the same, field by field and page by page; and what is changed in
 * a row is named. Postgres' own order of texts is another here (test/support/postgres-cluster.ts).
 */

import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { statementLines } from '../../../src/ledger/chain/statement.ts'
import type { PostgresConnection } from '../../../src/ledger/postgres/connection.ts'
import { copyFindings } from '../../../src/ledger/postgres/copy.ts'
import { differencesInDatabase } from '../../../src/ledger/postgres/verify.ts'
import type { SpendRow } from '../../../src/ledger/reading/account-reports.ts'
import { type Answers, answersOf, answerTo } from '../../../src/ledger/reading/answers.ts'
import type { Finding } from '../../../src/ledger/reading/reports.ts'
import { mergeSpend } from '../../../src/ledger/reading/spend.ts'
import { Report } from '../../../src/ledger/report.ts'
import { type Machine, makePath, NOW } from '../../support/ledger.ts'
import { postgresTest } from '../../support/postgres.ts'
import { copyOf, whatIsNamed } from '../../support/postgres-ledger.ts'
import { randomFrom, SEED } from '../../support/seed.ts'
import { ACCOUNTS, type Asked, DAYS, everyQuestion, OTHER_PRICES, writeVaried } from '../../support/varied-ledger.ts'

const TIMEOUT_MS = 180_000
const DAY_MS = 86_400_000
const REQUESTS = 250
const SIGNING = { publicKey: 'none', sign: (digest: Uint8Array) => Buffer.from(digest).toString('hex') }
const PLACE = { kind: 'sqlite', path: 'none' } as const

let machine: Machine
let copy: PostgresConnection

beforeAll(() => {
  machine = writeVaried(makePath(), randomFrom(SEED), REQUESTS)
})
afterAll(() => machine.close())

/** Made by the first test that needs it. */
const copied = async (): Promise<PostgresConnection> => (copy ??= await copyOf(machine.db))

describe('on both stores the same', () => {
  postgresTest(
    'answers to every question, on every page',
    async () => {
      const [ofFile, ofPostgres] = [answersOf(machine.db, PLACE), answersOf(await copied(), PLACE)]
      const some = machine.db.query<{ id: string }, []>('SELECT request_id AS id FROM receipts ORDER BY hash LIMIT 12').all()
      let asked = 0
      for (const question of everyQuestion(some.map(({ id }) => id))) {
        const [one, other] = [pagesOf(ofFile, question), pagesOf(ofPostgres, question)]
        asked += one.length
        expect([question, other]).toEqual([question, one])
      }
      expect(asked).toBeGreaterThan(1_000)
    },
    TIMEOUT_MS,
  )

  postgresTest('reports of the command line', async () => {
    const [ofFile, ofPostgres] = [machine.db, await copied()].map((db) => reported(new Report(db, PLACE)))
    expect(ofPostgres).toEqual(ofFile)
  })

  postgresTest('bytes of a statement, of any time', async () => {
    const postgres = await copied()
    for (const range of [{}, { from: NOW + DAY_MS }, { from: NOW + DAY_MS, to: NOW + 2 * DAY_MS }, { from: 1, to: 2 }]) {
      for (const account of ACCOUNTS) {
        const [ofFile, ofPostgres] = [machine.db, postgres].map((db) => [...statementLines(db, account, range, SIGNING, NOW)])
        expect(ofPostgres).toEqual(ofFile ?? [])
      }
    }
  })

  postgresTest('rows: a copy holds what its ledger holds, and is sound', async () => {
    const postgres = await copied()
    expect(copyFindings(machine.db, postgres)).toEqual([])
    expect(differencesInDatabase(postgres)).toEqual([])
  })
})

/** All pages by their cursors, which must agree; but the parts of sums end where their store's pages do, so that they are put together. */
function pagesOf(answers: Answers, question: Asked): readonly unknown[] {
  const pages: Finding[] = []
  for (let next: string | undefined; pages.length < 400; ) {
    const page = answerTo(answers, next === undefined ? question : ({ ...question, after: next } as typeof question))
    pages.push(page)
    const after = typeof page === 'object' && 'next' in page ? page.next : null
    if (after === null) break
    next = after
  }
  if (question.kind !== 'spendHours') return pages
  return [mergeSpend(pages.flatMap((page) => (page as { rows: readonly SpendRow[] }).rows))]
}

const KEY_QUERIES = [
  {},
  { accountId: 'acc_a' },
  { name: 'AL' },
  { state: 'live' },
  { state: 'disabled' },
  { state: 'expired' },
  { limit: 1 },
] as const

function reported(report: Report): unknown {
  const books = { from: NOW, to: NOW + DAYS * DAY_MS, widthMs: DAY_MS / 4, upstreams: undefined } as const
  const all = { after: undefined, limit: 1_000 }
  return {
    keys: KEY_QUERIES.map((query) => report.accounts.keys({ ...all, now: NOW, ...query })),
    accounts: [{}, { name: 'AL' }, { isActive: false }, { limit: 1 }].map((query) => report.accounts.accounts({ ...all, ...query })),
    plans: [report.accounts.plans(), report.accounts.lastSyncedAt()],
    named: ['alpha', 'ALPHA', 'Zebra', 'key_~', 'nobody'].map((name) => [report.accounts.key(name), report.accounts.account(name)]),
    usage: [
      report.lists.usage(all),
      report.lists.usage({ ...all, accountId: 'acc_a' }),
      report.lists.usage({ ...all, keyId: 'key_b', limit: 1 }),
    ],
    totals: [report.lists.usageTotal(all), report.lists.usageTotal({ ...all, keyId: 'nobody' })],
    books: [
      byText(report.upstreamBooks({ ...books, by: 'start' })),
      byText(report.upstreamBooks({ ...books, by: 'settle', upstreams: ['other'] })),
    ],
    repriced: ['acc_a', undefined].map((accountId) =>
      report.repriced({ ...all, accountId, from: undefined, to: undefined, prices: new Map([['haiku', OTHER_PRICES]]) }),
    ),
    calls: report.upstreamCalls({ ...books, by: 'start' }, [0, 2, 5], 4),
  }
}

/** Sums have no order. */
const byText = (rows: readonly object[]): readonly string[] => rows.map((row) => Bun.inspect(row)).sort()

describe('verify names', () => {
  const TAMPERING: readonly (readonly [string, string])[] = [
    ['UPDATE accounts SET credited_picos = credited_picos + 1, balance_picos = balance_picos + 1 WHERE number = 1', 'credits are the sum'],
    ['UPDATE accounts SET spent_picos = spent_picos + 1, balance_picos = balance_picos - 1 WHERE number = 1', 'spend is the sum'],
    ['UPDATE keys SET spent_picos = spent_picos + 1 WHERE number = 1', "key's spend"],
    ['UPDATE keys SET last_used_at = last_used_at + 1 WHERE number = 1', 'last use'],
    ['UPDATE keys SET last_used_at = NULL WHERE number = 1', 'last use'],
    ['UPDATE receipts SET output_tokens = output_tokens + 1 WHERE number = 9', 'counts (requests'],
    ['UPDATE receipts SET status = 299 WHERE number = 9', 'a row is what its hash says'],
    [
      'UPDATE receipts SET cost_picos = cost_picos + 1 WHERE number = (SELECT min(number) FROM receipts WHERE cost_picos > 0)',
      'tokens at its rates',
    ],
    ['UPDATE receipts SET account_number = 3 WHERE number = 9', "its key's account"],
    ['UPDATE receipts SET boot_number = 99 WHERE number = 9', 'every row has its parent'],
    ['DELETE FROM receipts WHERE number = 9', 'has no gap'],
    ['UPDATE price_versions SET output_rate_picos = output_rate_picos + 1', 'tokens at its rates'],
    ['UPDATE usage_daily SET requests = requests + 1', 'counts (requests'],
    ['UPDATE usage_daily SET cost_picos = cost_picos + 1', 'amounts are the sums'],
    ['UPDATE usage_daily SET estimated_picos = estimated_picos + 1', 'estimated part'],
    ['UPDATE attempts SET price_picos = 1', "attempt's price"],
    ["UPDATE credits SET reason = 'x' WHERE id = 'crd_3'", 'a credit has its line'],
    ['UPDATE codes SET redeemed_at = redeemed_at + 1 WHERE credit_id IS NOT NULL', 'a code that was redeemed'],
    ['DELETE FROM audit_log WHERE id = 2', 'the audit log has no gap'],
    ['DELETE FROM audit_log WHERE id = (SELECT max(id) FROM audit_log)', 'the audit log has no gap'],
    ['UPDATE chain_heads SET chain_count = chain_count + 1 WHERE account_number = 1', 'the chain of an account ends'],
    ['DELETE FROM chain_heads WHERE account_number = 1', 'the chain of an account ends'],
    ["UPDATE meta SET value = '5' WHERE name = 'paged'", 'pages are of all receipts'],
    [
      `INSERT INTO nodes VALUES (4, 'gone', 1, 1, 0, 0, 0); INSERT INTO leases VALUES (1, 4, 5); INSERT INTO key_leases VALUES (1, 4, 5)`,
      'what is leased is leased by a node',
    ],
    [
      `INSERT INTO marks SELECT 'req_m', 1, 1, 1, NULL, NULL, NULL, 'chat', 1, 5, 0, 0, 'none', NULL, 0, 0, 0, 0, 0, 0`,
      'what is held is held by a node',
    ],
  ]

  postgresTest(
    'what was done to its rows',
    async () => {
      const db = await copied()
      const tables = ['receipts', 'credits', 'audit_log', 'price_versions', 'attempts', 'codes', 'marks']
      const setTriggers = (act: 'DISABLE' | 'ENABLE') => {
        for (const table of tables) db.run(`ALTER TABLE ${table} ${act} TRIGGER USER`)
      }
      for (const [statement, rule] of TAMPERING) {
        const rules = whatIsNamed(db, () => {
          setTriggers('DISABLE')
          db.run(statement)
          setTriggers('ENABLE')
        })
        expect([statement, rules]).toEqual([statement, expect.arrayContaining([expect.stringContaining(rule)])])
      }
      expect(differencesInDatabase(db)).toEqual([])
    },
    TIMEOUT_MS,
  )
})
