/** Pages of receipts: every receipt of a key or account once, newest first, whatever is in the page table already and whatever is asked for. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ZERO } from '../../src/core/money.ts'
import { costOf } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { type PageQuery, ReceiptPages } from '../../src/ledger/reading/receipt-pages.ts'
import { PageTable } from '../../src/ledger/sqlite/page-table.ts'
import {
  createKey,
  holdRequest,
  holdTask,
  type Machine,
  NOW,
  openMachine,
  openTestLedger,
  operateTask,
  RATES,
  settlement,
  usd,
} from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const KEYS = ['key_a', 'key_b', 'key_c'] as const
const MODELS = ['small', 'large'] as const
const OUTCOMES = ['complete', 'leaver', 'fault'] as const
const HOLD = usd('0.01')
const TIMEOUT_MS = 180_000
const USED = { ...NO_USAGE, input: 10, output: 5 }

type Written = Readonly<{ keyId: (typeof KEYS)[number]; modelId: (typeof MODELS)[number]; outcome: (typeof OUTCOMES)[number]; at: number }>

const written: fc.Arbitrary<Written> = fc.record({
  keyId: fc.constantFrom(...KEYS),
  modelId: fc.constantFrom(...MODELS),
  outcome: fc.constantFrom(...OUTCOMES),
  // The clock may stand still, and jump back.
  at: fc.nat(20).map((n) => NOW + n),
})

const query = fc.record({
  of: fc.oneof(
    fc.subarray([...KEYS], { minLength: 1 }).map((keyIds) => ({ keyIds })),
    fc.subarray(['acc_shared', 'acc_c'], { minLength: 1 }).map((accountIds) => ({ accountIds })),
    fc.record({ keyIds: fc.subarray([...KEYS], { minLength: 1 }), accountIds: fc.subarray(['acc_shared', 'acc_c'], { minLength: 1 }) }),
  ),
  from: fc.option(
    fc.nat(21).map((n) => NOW + n),
    { nil: undefined },
  ),
  to: fc.option(
    fc.nat(21).map((n) => NOW + n),
    { nil: undefined },
  ),
  modelIds: fc.option(fc.subarray([...MODELS], { minLength: 1 }), { nil: undefined }),
  outcomes: fc.option(fc.subarray([...OUTCOMES], { minLength: 1 }), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 7 }),
})

/** key_a and key_b share an account, key_c has one of its own. */
function openWithKeys(): Machine {
  const machine = openMachine()
  machine.ask(operateTask({ kind: 'createAccount', accountId: 'acc_shared', name: '', topUp: null, now: NOW }))
  machine.ask(
    operateTask({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: 'top',
      accountId: 'acc_shared',
      amountPicos: usd('1000'),
      ref: '',
      now: NOW,
    }),
  )
  for (const keyId of ['key_a', 'key_b']) machine.ask(operateTask(createKey(keyId, { accountId: 'acc_shared' })))
  machine.ask(operateTask(createKey('key_c', { balanceUsd: '1000' })))
  return machine
}

function write(machine: Machine, requestId: string, { keyId, modelId, outcome, at }: Written): void {
  const price = costOf(USED, RATES)
  const amounts = outcome === 'fault' ? { costPicos: ZERO, waivedPicos: price } : { costPicos: price, waivedPicos: ZERO }
  machine.ask(holdTask(requestId, keyId, HOLD, { modelId }))
  expect(machine.ask({ kind: 'settle', settlement: settlement(requestId, USED, { outcome, ...amounts, now: at }) })).toBe('settled')
}

/** As the writer does behind the settles, for whatever there is. */
const fillPages = ({ db }: Machine): void => db.transaction(() => new PageTable(db).advance(NOW))()

function walk(pages: ReceiptPages, asked: PageQuery): string[] {
  const ids: string[] = []
  for (let after: string | undefined; ; ) {
    const page = pages.page(after === undefined ? asked : { ...asked, after })
    if (page === undefined) throw new Error(`no page after ${after}`)
    expect(page.rows.length).toBeLessThanOrEqual(asked.limit)
    ids.push(...page.rows.map(({ requestId }) => requestId))
    if (page.next === null) return ids
    after = page.next
  }
}

const ACCOUNT_OF = { key_a: 'acc_shared', key_b: 'acc_shared', key_c: 'acc_c' } as const

const matches = (row: Written, asked: PageQuery): boolean =>
  (asked.of.keyIds?.includes(row.keyId) ?? true) &&
  (asked.of.accountIds?.includes(ACCOUNT_OF[row.keyId]) ?? true) &&
  row.at >= (asked.from ?? 0) &&
  row.at < (asked.to ?? Number.POSITIVE_INFINITY) &&
  (asked.modelIds?.includes(row.modelId) ?? true) &&
  (asked.outcomes?.includes(row.outcome) ?? true)

test(
  'the pages of any query hold each receipt of it once, newest first, wherever the page table ends',
  () => {
    fc.assert(
      fc.property(
        fc.array(written, { maxLength: 40 }),
        fc.nat(40),
        fc.array(query, { minLength: 1, maxLength: 5 }),
        (rows, filledAt, queries) => {
          const machine = openWithKeys()
          rows.forEach((row, index) => {
            if (index === filledAt) fillPages(machine)
            write(machine, `req_${index}`, row)
          })
          const pages = new ReceiptPages(machine.db)
          for (const asked of queries) {
            const expected = rows
              .map((row, index) => ({ row, index }))
              .filter(({ row }) => matches(row, asked))
              .sort((a, b) => b.row.at - a.row.at || b.index - a.index)
            expect(walk(pages, asked as PageQuery)).toEqual(expected.map(({ index }) => `req_${index}`))
          }
          expect(machine.differences()).toEqual([])
          machine.close()
        },
      ),
      { numRuns: runs(20) },
    )
  },
  TIMEOUT_MS,
)

describe('a page', () => {
  test('goes on after a receipt of the key only', () => {
    const machine = openWithKeys()
    const row = { modelId: 'small', outcome: 'complete', at: NOW } as const
    write(machine, 'req_a', { ...row, keyId: 'key_a' })
    write(machine, 'req_c', { ...row, keyId: 'key_c' })
    const pages = new ReceiptPages(machine.db)
    expect(pages.page({ of: { keyIds: ['key_a'] }, after: 'req_a', limit: 5 })).toEqual({ rows: [], next: null })
    expect(pages.page({ of: { keyIds: ['key_a'] }, after: 'req_c', limit: 5 })).toBeUndefined()
    expect(pages.page({ of: { keyIds: ['key_a'] }, after: 'req_none', limit: 5 })).toBeUndefined()
    expect(pages.page({ of: { keyIds: ['key_none'] }, limit: 5 })).toEqual({ rows: [], next: null })
    machine.close()
  })

  test('carries what was written, with names and rates for the numbers', () => {
    const machine = openWithKeys()
    machine.ask(holdTask('req_whole', 'key_c', HOLD))
    const upstream = { name: 'main', model: 'vendor-model', messageId: 'msg_1', requestId: 'req_theirs' }
    machine.ask({
      kind: 'settle',
      settlement: settlement('req_whole', USED, { upstream, usageSource: 'estimated', bytesPerToken: 3.5, attempts: 2 }),
    })
    const expected = {
      requestId: 'req_whole',
      accountId: 'acc_c',
      keyId: 'key_c',
      keyName: '',
      modelId: 'sample-large',
      rates: RATES,
      abovePromptTokens: 0,
      format: 'messages',
      isStream: true,
      outcome: 'complete',
      usageSource: 'estimated',
      bytesPerToken: 3.5,
      status: 200,
      usage: USED,
      costPicos: costOf(USED, RATES),
      waivedPicos: ZERO,
      holdPicos: HOLD,
      attempts: 2,
      upstream,
      startedAt: NOW,
      settledAt: NOW + 1_000,
      firstByteMs: 12,
      durationMs: 346,
      tag: null,
      upstreamCostPicos: null,
      cacheLostPicos: null,
    } as const
    const pages = new ReceiptPages(machine.db)
    expect(pages.page({ of: { keyIds: ['key_c'] }, limit: 1 })).toEqual({ rows: [expected], next: null })
    expect(pages.receipt('req_whole')).toEqual(expected)
    expect(pages.receipt('req_none')).toBeUndefined()
    machine.close()
  })

  test('that finds little looks at 10,000 receipts and says where to go on', () => {
    const machine = openWithKeys()
    write(machine, 'req_first', { keyId: 'key_c', modelId: 'large', outcome: 'complete', at: NOW })
    copyReceipts(machine, 10_000)
    const pages = new ReceiptPages(machine.db)
    const asked = { of: { keyIds: ['key_c'] }, modelIds: ['large'], outcomes: ['fault'], limit: 5 } as const
    const first = pages.page(asked)
    expect(first?.rows).toEqual([])
    expect(first?.next).toBe('req_copy_1')
    expect(pages.page({ ...asked, after: first?.next ?? '' })).toEqual({ rows: [], next: null })
    machine.close()
  })
})

/** Many receipts like the first one, of which nothing else in the ledger knows. */
function copyReceipts({ db }: Machine, count: number): void {
  const columns = db
    .query<{ name: string }, []>("SELECT name FROM pragma_table_info('receipts')")
    .all()
    .map(({ name }) => name)
    .filter((name) => name !== 'number' && name !== 'request_id')
    .join(', ')
  db.run(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO receipts (request_id, ${columns}) SELECT 'req_copy_' || i, ${columns} FROM n, receipts WHERE receipts.number = 1`,
  )
}

describe('the page table', () => {
  test(
    'is filled behind the settles, a batch at a time',
    async () => {
      const { ledger, path } = await openTestLedger()
      await ledger.operate(createKey('key_a', { balanceUsd: '1000' }))
      const settles = Array.from({ length: 4_200 }, async (_, index) => {
        await ledger.hold(holdRequest(`req_${index}`, 'key_a', usd('0.000001')))
        return ledger.settle(settlement(`req_${index}`, { input: 1 }))
      })
      expect(new Set(await Promise.all(settles))).toEqual(new Set(['settled']))
      await ledger.close()
      const machine = openMachine(path, 'boot-2')
      expect(machine.db.query('SELECT count(*) FROM receipt_pages').values()).toEqual([[4_096n]])
      expect(machine.db.query("SELECT value FROM meta WHERE name = 'paged'").values()).toEqual([['4096']])
      expect(walk(new ReceiptPages(machine.db), { of: { keyIds: ['key_a'] }, limit: 1_000 })).toHaveLength(4_200)
      expect(machine.differences()).toEqual([])
      machine.close()
    },
    TIMEOUT_MS,
  )

  test('goes on where a process that died left it', () => {
    const machine = openWithKeys()
    write(machine, 'req_first', { keyId: 'key_c', modelId: 'large', outcome: 'complete', at: NOW })
    copyReceipts(machine, 9_000)
    const again = new PageTable(machine.db)
    for (let batches = 0; again.isDue; batches++) {
      expect(batches).toBeLessThan(3)
      machine.db.transaction(() => again.advance(NOW))()
      again.advanced()
    }
    expect(machine.db.query("SELECT value FROM meta WHERE name = 'paged'").values()).toEqual([['8192']])
    machine.close()
  })

  test.each([
    ['DELETE FROM receipt_pages WHERE receipt_number = 1', 'a receipt is found by its key and time', 'req_0'],
    [
      'UPDATE receipt_pages SET key_number = key_number + 1 WHERE receipt_number = 2',
      'what is found by key and time is a receipt',
      'receipt 2',
    ],
    ["UPDATE meta SET value = '9' WHERE name = 'paged'", 'the mark of the page table is the number of a receipt', 'paged'],
    ["DELETE FROM meta WHERE name = 'paged'", 'the mark of the page table is the number of a receipt', 'paged'],
  ])('verify names what is wrong with it: %s', (tampering, rule, subject) => {
    const machine = openWithKeys()
    for (const index of [0, 1]) write(machine, `req_${index}`, { keyId: 'key_a', modelId: 'small', outcome: 'complete', at: NOW })
    fillPages(machine)
    expect(machine.differences()).toEqual([])
    machine.db.run(tampering)
    expect(machine.differences().map((one) => [one.rule, one.subject])).toContainEqual([rule, subject])
    machine.close()
  })
})

test('with a batch of rows the Idempotency-Keys that do not count any more are forgotten, so many at once, and no other', () => {
  const machine = openMachine()
  machine.ask(operateTask(createKey('key_a', { balanceUsd: '10' })))
  machine.db.run(`WITH RECURSIVE ids (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ids WHERE n < 9000)
    INSERT INTO idempotency (key_number, header_hash, body_hash, request_id, expires_at)
    SELECT 1, unhex(printf('%064x', n)), zeroblob(32), 'req_' || n, CASE WHEN n <= 10 THEN ${NOW + 1} ELSE ${NOW} END FROM ids`)
  const left = () => machine.db.query('SELECT count(*) AS n, min(expires_at) AS first FROM idempotency').get()
  const table = new PageTable(machine.db)
  table.advance(NOW)
  expect(left()).toEqual({ n: 9_000n - 8_192n, first: BigInt(NOW) })
  table.advance(NOW)
  expect(left()).toEqual({ n: 10n, first: BigInt(NOW + 1) })
  machine.close()
})
