/**
 * Receipts in the order of a figure: each once and in its place over all parts and pages, of all, an account or a key, with each filter; none of another account.
 * Rules: operator.md "Lists".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { OUTCOMES } from '../../../src/core/outcome.ts'
import type { ReceiptRow } from '../../../src/ledger/columns/receipt.ts'
import { ConsoleReads } from '../../../src/ledger/reading/console-reads.ts'
import { OrderedReceipts, RECEIPT_ORDERS, type ReceiptOrder } from '../../../src/ledger/reading/ordered-receipts.ts'
import type { ReceiptsOf } from '../../../src/ledger/reading/receipt-filter.ts'
import { ReceiptPages } from '../../../src/ledger/reading/receipt-pages.ts'
import { orderedReceipts } from '../../../src/web/api/ordered-receipts.ts'
import { type Machine, makePath } from '../../support/ledger.ts'
import { randomFrom, SEED } from '../../support/seed.ts'
import { ACCOUNTS, writeVaried } from '../../support/varied-ledger.ts'

const REQUESTS = 150
const LATER = 2 ** 48 - 1

let machine: Machine
/** With the product's bound on the keys of several accounts, and as if any had more keys than are walked. */
let within: OrderedReceipts
let beyond: OrderedReceipts
let all: readonly ReceiptRow[]
beforeAll(() => {
  machine = writeVaried(makePath(), randomFrom(SEED), REQUESTS)
  within = new OrderedReceipts(machine.db)
  beyond = new OrderedReceipts(machine.db, new ReceiptPages(machine.db, 0))
  all = new ConsoleReads(machine.db).receipts({ kind: 'allReceipts', limit: 10_000 })?.rows ?? []
})
afterAll(() => machine.close())

const figureOf = (order: ReceiptOrder, { costPicos, usage, durationMs }: ReceiptRow): bigint =>
  ({
    cost: costPicos,
    input: BigInt(usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h),
    output: BigInt(usage.output),
    time: BigInt(durationMs),
  })[order]

test('every receipt of the filter once, the greatest figure first, page by page, also of accounts with too many keys to walk', async () => {
  expect(all.length).toBeGreaterThan(REQUESTS / 2)
  const keys = [...new Set(all.map(({ keyId }) => keyId))]
  const models = [...new Set(all.map(({ modelId }) => modelId))]
  const of = fc.oneof(
    fc.constant({}),
    fc.subarray([...ACCOUNTS], { minLength: 1 }).map((accountIds) => ({ accountIds })),
    fc.subarray(keys, { minLength: 1 }).map((keyIds) => ({ keyIds })),
    fc.record({ accountIds: fc.subarray([...ACCOUNTS], { minLength: 1 }), keyIds: fc.subarray(keys, { minLength: 1 }) }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...(Object.keys(RECEIPT_ORDERS) as ReceiptOrder[])),
      of,
      fc.option(fc.subarray(models, { minLength: 1 })),
      fc.option(fc.subarray([...OUTCOMES], { minLength: 1 })),
      fc.integer({ min: 1, max: 40 }),
      fc.boolean(),
      async (order, who: ReceiptsOf, modelIds, outcomes, limit, isWithin) => {
        const wanted = { of: who, ...(modelIds === null ? {} : { modelIds }), ...(outcomes === null ? {} : { outcomes }) }
        const found: ReceiptRow[] = []
        for (let after: string | undefined; ; ) {
          const asked = { ...wanted, order: `-${order}` as const, limit, ...(after === undefined ? {} : { after }) }
          const page = await orderedReceipts((query) => Promise.resolve((isWithin ? within : beyond).part(query)), asked, LATER)
          if (page === undefined || typeof page === 'string' || page instanceof Response) throw new Error('no such page')
          expect(page.since).toBeNull()
          found.push(...page.rows)
          if (page.next === null) break
          after = page.next
        }
        const isWanted = (row: ReceiptRow): boolean =>
          (who.accountIds?.includes(row.accountId) ?? true) &&
          (who.keyIds?.includes(row.keyId) ?? true) &&
          (modelIds === null || modelIds.includes(row.modelId)) &&
          (outcomes === null || outcomes.includes(row.outcome))
        expect(found.map(({ requestId }) => requestId).toSorted()).toEqual(
          all
            .filter(isWanted)
            .map(({ requestId }) => requestId)
            .toSorted(),
        )
        const figures = found.map((row) => figureOf(order, row))
        for (const [index, figure] of figures.slice(1).entries()) expect(figure <= (figures[index] ?? 0n)).toBe(true)
      },
    ),
    { numRuns: 40 },
  )
}, 60_000)

test('parts that are cut say since when they looked, and their sum is the whole', async () => {
  // A walk of parts of one receipt each ends behind ten of them, as one of 10,000 ends behind 100,000.
  const small = (after: string | undefined) => {
    const behind = after === undefined ? all : all.slice(all.findIndex(({ requestId }) => requestId === after) + 1)
    const [row] = behind
    return {
      rows: row === undefined ? [] : [row],
      values: row === undefined ? [] : [String(row.costPicos)],
      next: behind.length < 2 ? null : (row?.requestId ?? null),
      looked: 1,
    }
  }
  const page = await orderedReceipts((query) => Promise.resolve(small(query.after)), { order: '-cost', limit: 50 }, LATER)
  if (page === undefined || typeof page === 'string' || page instanceof Response) throw new Error('no such page')
  const figures = page.rows.map(({ costPicos }) => costPicos)
  for (const [index, figure] of figures.slice(1).entries()) expect(figure <= (figures[index] ?? 0n)).toBe(true)
  expect([page.among, page.since, page.rows.length]).toEqual([10, all[9]?.requestId ?? '', 10])
})

test('a place that no list gave is none', async () => {
  for (const after of [
    '',
    'x',
    'req_1',
    Buffer.from('["a","b","c"]').toString('base64url'),
    Buffer.from('["1","b","-1"]').toString('base64url'),
  ])
    expect([after, await orderedReceipts(() => Promise.reject(new Error('asked')), { order: '-cost', limit: 5, after }, LATER)]).toEqual([
      after,
      undefined,
    ])
})
