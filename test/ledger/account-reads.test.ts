/**
 * What the people of an account read of it: pages, days and `verify` agree to the last picodollar, and nothing of another account is in them.
 * Rules: ledger.md "Roll-ups", "Reads".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { picos, sumPicos, ZERO } from '../../src/core/money.ts'
import { costOf, type Rates, savedByCache } from '../../src/core/pricing.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS, dayAt } from '../../src/core/utc.ts'
import { AccountReads } from '../../src/ledger/reading/account-reads.ts'
import type { AccountReceipt, SpendQuestion, SpendRow } from '../../src/ledger/reading/account-reports.ts'
import { mergeSpend, sumSpend, wholeSpend } from '../../src/ledger/reading/spend.ts'
import { PageTable } from '../../src/ledger/sqlite/page-table.ts'
import { createKey, holdTask, type Machine, NOW, openMachine, operateTask, RATES, settlement, sha256, usd } from '../support/ledger.ts'
import { runs } from '../support/property-runs.ts'

const RUNS = runs(15)
const TIMEOUT_MS = 180_000 + RUNS * 1_000
const HOUR_MS = DAY_MS / 24
const KEYS = ['key_a', 'key_b', 'key_c'] as const
const PRICES: readonly Rates[] = [RATES, { ...RATES, input: picos(4_000_000n), cacheRead: picos(500_000n) }]
const TODAY = dayAt(NOW)

type Written = Readonly<{
  keyId: (typeof KEYS)[number]
  modelId: 'small' | 'large'
  outcome: 'complete' | 'leaver' | 'fault'
  basis: 'final' | 'estimated'
  price: number
  at: number
  cacheRead: number
  cacheWrite1h: number
  cacheWrite5m: number
}>

const written: fc.Arbitrary<Written> = fc.record({
  keyId: fc.constantFrom(...KEYS),
  modelId: fc.constantFrom('small', 'large'),
  outcome: fc.constantFrom('complete', 'leaver', 'fault'),
  basis: fc.constantFrom('final', 'estimated'),
  price: fc.nat(PRICES.length - 1),
  at: fc.nat(3 * 24).map((hours) => NOW + (hours * DAY_MS) / 24),
  cacheRead: fc.nat(5_000),
  cacheWrite1h: fc.nat(2_000),
  cacheWrite5m: fc.nat(2_000),
})

/** key_a and key_b share an account, key_c has one of its own. */
function openWithKeys(): Machine {
  const machine = openMachine()
  machine.ask(
    operateTask({
      kind: 'createAccount',
      accountId: 'acc_shared',
      name: 'shared',
      topUp: { creditId: 'crd_1', amountPicos: usd('1000'), ref: 'r1' },
      now: NOW,
    }),
  )
  for (const keyId of ['key_a', 'key_b']) machine.ask(operateTask(createKey(keyId, { accountId: 'acc_shared', name: keyId })))
  machine.ask(operateTask(createKey('key_c', { balanceUsd: '1000' })))
  return machine
}

function write(machine: Machine, requestId: string, row: Written): void {
  const { keyId, modelId, outcome, basis, price, at, ...cached } = row
  const rates = PRICES[price] ?? RATES
  const usage = { ...NO_USAGE, input: 10, output: 5, ...cached }
  const cost = costOf(usage, rates)
  const amounts = outcome === 'fault' ? { costPicos: ZERO, waivedPicos: cost } : { costPicos: cost, waivedPicos: ZERO }
  machine.ask(holdTask(requestId, keyId, usd('0.01'), { modelId, rates }))
  expect(
    machine.ask({ kind: 'settle', settlement: settlement(requestId, usage, { outcome, usageSource: basis, ...amounts, now: at }) }),
  ).toBe('settled')
}

const fillPages = ({ db }: Machine): void => db.transaction(() => new PageTable(db).advance(NOW))()

/** All rows of a list, page by page. */
function walk<Row>(page: (after: string | undefined) => Readonly<{ rows: readonly Row[]; next: string | null }> | undefined): Row[] {
  const rows: Row[] = []
  for (let after: string | undefined; ; ) {
    const found = page(after)
    if (found === undefined) throw new Error(`no page after ${after}`)
    rows.push(...found.rows)
    if (found.next === null) return rows
    after = found.next
  }
}

const paged = (after: string | undefined) => (after === undefined ? {} : { after })
const receiptsOf = (reads: AccountReads, accountId: string, limit = 7): AccountReceipt[] =>
  walk((after) => reads.receipts({ kind: 'accountReceipts', accountId, limit, ...paged(after) }))
const spendOf = (reads: AccountReads, question: Omit<SpendQuestion, 'kind'>): readonly SpendRow[] =>
  mergeSpend(walk((after) => reads.spend({ kind: 'spend', ...question, ...paged(after) })))
const SPAN = { fromDay: TODAY, toDay: TODAY + 4 }

test(
  'the receipts of an account, its days by model, by key and as a whole, its own sums and verify agree to the last picodollar',
  () => {
    fc.assert(
      fc.property(fc.array(written, { maxLength: 40 }), fc.nat(40), (rows, filledAt) => {
        const machine = openWithKeys()
        rows.forEach((row, index) => {
          if (index === filledAt) fillPages(machine)
          write(machine, `req_${index}`, row)
        })
        const reads = new AccountReads(machine.db)
        for (const accountId of ['acc_shared', 'acc_c']) {
          const own = rows.filter(({ keyId }) => (keyId === 'key_c') === (accountId === 'acc_c'))
          const receipts = receiptsOf(reads, accountId)
          expect(receipts).toHaveLength(own.length)
          const account = reads.account({ kind: 'account', accountId })
          for (const by of ['day', 'model', 'key'] as const) {
            const total = sumSpend(spendOf(reads, { accountId, by, ...SPAN }))
            expect(total.requests).toBe(own.length)
            expect(total.costPicos).toBe(account?.spentPicos ?? ZERO)
            expect(total.costPicos).toBe(sumPicos(...receipts.map(({ costPicos }) => costPicos)))
            expect(total.waivedPicos).toBe(sumPicos(...receipts.map(({ waivedPicos }) => waivedPicos)))
            const estimated = receipts.filter(({ usageSource }) => usageSource === 'estimated').map(({ costPicos }) => costPicos)
            expect(total.estimatedPicos).toBe(sumPicos(...estimated))
            expect(total.savedPicos).toBe(sumPicos(...receipts.map(({ usage, rates }) => savedByCache(usage, rates))))
            expect(total.usage.cacheRead).toBe(receipts.reduce((sum, { usage }) => sum + usage.cacheRead, 0))
          }
          for (const { id, day, costPicos } of spendOf(reads, { accountId, by: 'key', ...SPAN })) {
            const ofDay = receipts.filter(({ keyId, settledAt }) => keyId === id && dayAt(settledAt) === day)
            expect(costPicos).toBe(sumPicos(...ofDay.map((receipt) => receipt.costPicos)))
          }
          for (const day of [TODAY, TODAY + 1]) {
            const hours = mergeSpend(
              walk((after) => reads.spendHours({ kind: 'spendHours', accountId, day, by: 'model', ...paged(after) })),
            )
            expect(sumSpend(hours)).toEqual(sumSpend(spendOf(reads, { accountId, by: 'model', fromDay: day, toDay: day })))
            for (const { hour, costPicos, id } of hours) {
              const ofHour = receipts.filter(
                ({ settledAt, modelId }) => modelId === id && Math.floor(settledAt / HOUR_MS) === day * 24 + (hour ?? -1),
              )
              expect(costPicos).toBe(sumPicos(...ofHour.map((receipt) => receipt.costPicos)))
            }
          }
          const small = sumSpend(spendOf(reads, { accountId, by: 'model', modelId: 'small', ...SPAN }))
          expect(small.requests).toBe(own.filter(({ modelId }) => modelId === 'small').length)
          expect(account?.lastUsedAt ?? null).toBe(own.length === 0 ? null : Math.max(...own.map(({ at }) => at)))
        }
        expect(machine.differences()).toEqual([])
        machine.close()
      }),
      { numRuns: RUNS },
    )
  },
  TIMEOUT_MS,
)

const ROW: Written = {
  keyId: 'key_a',
  modelId: 'small',
  outcome: 'complete',
  basis: 'final',
  price: 0,
  at: NOW,
  cacheRead: 100,
  cacheWrite1h: 0,
  cacheWrite5m: 0,
}

test('what a cache saved is the tokens at the input rate less what they cost, and writes take from it', () => {
  const usage = { ...NO_USAGE, cacheRead: 100, cacheWrite5m: 10, cacheWrite1h: 1 }
  expect(savedByCache(usage, RATES)).toBe(picos(100n * 2_700_000n - 10n * 750_000n - 3_000_000n))
  expect(savedByCache({ ...NO_USAGE, cacheWrite1h: 1 }, RATES)).toBe(picos(-3_000_000n))
})

test('of another account nothing is known: no key, request, credit, spend, and no cursor of it goes on here', () => {
  const machine = openWithKeys()
  write(machine, 'req_a', ROW)
  write(machine, 'req_c', { ...ROW, keyId: 'key_c' })
  const reads = new AccountReads(machine.db)
  const of = { accountId: 'acc_c', limit: 5 }
  expect(reads.key({ kind: 'accountKey', keyId: 'key_a', accountId: 'acc_c' })).toBeUndefined()
  expect(reads.receipt({ kind: 'accountReceipt', requestId: 'req_a', accountId: 'acc_c' })).toBeUndefined()
  expect(reads.receipts({ kind: 'accountReceipts', ...of, keyIds: ['key_a'] })).toBeUndefined()
  expect(reads.receipts({ kind: 'accountReceipts', ...of, after: 'req_a' })).toBeUndefined()
  expect(reads.keys({ kind: 'accountKeys', ...of, after: 'key_a' })).toBeUndefined()
  expect(reads.credits({ kind: 'accountCredits', ...of, after: 'crd_1' })).toBeUndefined()
  expect(reads.spend({ kind: 'spend', accountId: 'acc_c', by: 'key', keyId: 'key_a', ...SPAN })).toBeUndefined()
  expect(reads.spend({ kind: 'spend', accountId: 'acc_c', by: 'key', after: '1:1:1:1', ...SPAN })).toBeUndefined()
  expect(reads.spend({ kind: 'spend', accountId: 'acc_c', by: 'key', after: 'key_a', ...SPAN })).toBeUndefined()
  expect(reads.account({ kind: 'account', accountId: 'acc_none' })).toBeUndefined()
  expect(reads.receipts({ kind: 'accountReceipts', accountId: 'acc_none', limit: 5 })).toBeUndefined()
  expect(reads.keys({ kind: 'accountKeys', accountId: 'acc_none', limit: 5 })).toBeUndefined()
  expect(reads.credits({ kind: 'accountCredits', accountId: 'acc_none', limit: 5 })).toBeUndefined()
  expect(reads.spend({ kind: 'spend', accountId: 'acc_none', by: 'day', ...SPAN })).toBeUndefined()
  const hours = { kind: 'spendHours', day: TODAY, by: 'key' } as const
  expect(reads.spendHours({ ...hours, accountId: 'acc_c', keyId: 'key_a' })).toBeUndefined()
  expect(reads.spendHours({ ...hours, accountId: 'acc_none' })).toBeUndefined()
  expect(reads.spendHours({ ...hours, accountId: 'acc_c', after: 'x' })).toBeUndefined()
  for (const after of ['t:0:0', 'p:9:1:0:0'])
    expect(reads.spendHours({ ...hours, accountId: 'acc_c', after })?.rows.every(({ id }) => id === 'key_c')).toBeTrue()
  expect(receiptsOf(reads, 'acc_c').map(({ requestId }) => requestId)).toEqual(['req_c'])
  machine.close()
})

test('a key says when it was last used, and which secret before a rotation still counts', () => {
  const machine = openWithKeys()
  write(machine, 'req_a', { ...ROW, at: NOW + 7 })
  const rotate = {
    kind: 'rotateKey',
    keyId: 'key_a',
    secretHash: sha256('new'),
    display: 'sk-…new1',
    oldValidUntil: NOW + 9,
    now: NOW,
  } as const
  machine.ask(operateTask(rotate))
  const reads = new AccountReads(machine.db)
  const key = reads.key({ kind: 'accountKey', keyId: 'key_a', accountId: 'acc_shared' })
  expect(key).toMatchObject({ display: 'sk-…new1', previous: { display: 'sk-…test', validUntil: NOW + 9 }, lastUsedAt: NOW + 7 } as object)
  expect(reads.key({ kind: 'accountKey', keyId: 'key_b', accountId: 'acc_shared' })).toMatchObject({
    previous: null,
    lastUsedAt: null,
  } as object)
  machine.close()
})

test('the pages of keys and credits hold each once, newest first, also while more come in', () => {
  const machine = openWithKeys()
  const add = (index: number) => {
    machine.ask(operateTask(createKey(`key_${index}`, { accountId: 'acc_shared' })))
    const credit = {
      creditKind: 'top-up',
      creditId: `crd_x${index}`,
      accountId: 'acc_shared',
      amountPicos: usd('1'),
      ref: '',
      now: NOW,
    } as const
    machine.ask(operateTask({ kind: 'credit', ...credit }))
  }
  for (let index = 0; index < 9; index++) add(index)
  const reads = new AccountReads(machine.db)
  let more = 100
  const keys = walk((after) => {
    if (after !== undefined) add(more++)
    return reads.keys({ kind: 'accountKeys', accountId: 'acc_shared', limit: 3, ...paged(after) })
  })
  expect(keys.map(({ id }) => id)).toEqual([...Array.from({ length: 9 }, (_, index) => `key_${8 - index}`), 'key_b', 'key_a'])
  const credits = walk((after) => reads.credits({ kind: 'accountCredits', accountId: 'acc_shared', limit: 4, ...paged(after) }))
  expect(credits.map(({ id }) => id).slice(-2)).toEqual(['crd_x0', 'crd_1'])
  expect(new Set(credits.map(({ id }) => id)).size).toBe(credits.length)
  expect(credits.at(-1)).toEqual({ id: 'crd_1', kind: 'top-up', amountPicos: usd('1000'), ref: 'r1', reason: '', createdAt: NOW })
  machine.close()
})

test('of a credit the account sees the reason that an operator gave on the console for a refund or a correction, and no other', () => {
  const machine = openWithKeys()
  const given = [
    ['top-up', 'person:op@example.com'],
    ['refund', 'person:op@example.com'],
    ['correction', 'person:op@example.com'],
    ['refund', 'os:root'],
    ['correction', 'program'],
  ] as const
  for (const [index, [creditKind, actor]] of given.entries()) {
    const amountPicos = creditKind === 'top-up' ? usd('1') : usd('-1')
    const operation = {
      kind: 'credit',
      creditKind,
      creditId: `crd_r${index}`,
      accountId: 'acc_shared',
      amountPicos,
      ref: '',
      now: NOW + index,
    } as const
    machine.ask({ kind: 'operate', operation, act: { actor, address: '', reason: `reason ${index}` } })
  }
  const page = new AccountReads(machine.db).credits({ kind: 'accountCredits', accountId: 'acc_shared', limit: 5 })
  expect(page?.rows.map(({ id, reason }) => [id, reason])).toEqual([
    ['crd_r4', ''],
    ['crd_r3', ''],
    ['crd_r2', 'reason 2'],
    ['crd_r1', 'reason 1'],
    ['crd_r0', ''],
  ])
  machine.close()
})

test('a request carries no upstream, and its other calls say why they were not the answer', () => {
  const machine = openWithKeys()
  machine.ask(holdTask('req_a', 'key_a', usd('0.01')))
  const upstream = { name: 'main', model: 'vendor-model' }
  const other = {
    number: 1,
    upstream,
    status: 529,
    cause: 'overloaded',
    usageSource: 'none',
    usage: NO_USAGE,
    startedAt: NOW,
    durationMs: 3,
  } as const
  machine.ask({ kind: 'settle', settlement: settlement('req_a', { input: 1 }, { upstream, attempts: 2, otherAttempts: [other] }) })
  const reads = new AccountReads(machine.db)
  const found = reads.receipt({ kind: 'accountReceipt', requestId: 'req_a', accountId: 'acc_shared' })
  expect(found?.calls).toEqual([{ number: 1, status: 529, cause: 'overloaded', startedAt: NOW, durationMs: 3 }])
  expect(found?.receipt).toMatchObject({ requestId: 'req_a', attempts: 2, rates: RATES } as object)
  expect(
    JSON.stringify([found, receiptsOf(reads, 'acc_shared')], (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain('vendor')
  machine.close()
})

test('spend that is more than a part looks at comes in parts, which are one whole', async () => {
  const machine = openWithKeys()
  write(machine, 'req_a', ROW)
  const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)`
  machine.db.run(`${many} INSERT INTO usage_daily SELECT key_number, day - i, model_number, price_number, requests, input_tokens, output_tokens,
    cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, estimated_picos FROM usage_daily, n`)
  const reads = new AccountReads(machine.db)
  const question = { kind: 'spend', accountId: 'acc_shared', fromDay: 0, toDay: TODAY, by: 'key' } as const
  let parts = 0
  const ask = (_client: string, asked: SpendQuestion) => {
    parts++
    const part = reads.spend(asked)
    expect(part?.rows.length).toBeLessThanOrEqual(1_000)
    return Promise.resolve(part)
  }
  const whole = await wholeSpend({ ask: ask as never, close: () => Promise.resolve() }, 'person:1', question)
  if (typeof whole !== 'object') throw new Error('no spend')
  expect(parts).toBe(6)
  expect(whole).toHaveLength(5_001)
  expect(whole.map(({ day }) => day)).toEqual(Array.from({ length: 5_001 }, (_, index) => TODAY - index))
  expect(sumSpend(whole).costPicos).toBe(picos(5_001n * costOf({ ...NO_USAGE, input: 10, output: 5, cacheRead: 100 }, RATES)))
  machine.close()
})
