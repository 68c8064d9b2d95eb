/** What an alert is judged by is what the ledger has of that account, of that key and of today, and nothing of another. Rules: pages.md "Alerts". */

import { expect, test } from 'bun:test'
import { factsFrom } from '../../src/alerts/account-facts.ts'
import { type AlertRule, judge } from '../../src/core/alerts.ts'
import type { Catalog } from '../../src/core/catalog.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import { HOUR_MS, hourAt, type Per, windowAt } from '../../src/core/windows.ts'
import { Reads } from '../../src/ledger/reading/reads.ts'
import { createKey, holdRequest, NOW, openTestLedger, settlement, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

const NO_PLANS = (): Catalog => ({ models: new Map(), plans: new Map() })
const CENT = { ...NO_USAGE, output: 1_000 }

test('balance, spend of today, keys and limits are the ledger’s', async () => {
  const { ledger, path } = await openTestLedger()
  const reads = new Reads({ place: { kind: 'sqlite', path }, startThread, onFault: () => undefined })
  await ledger.operate(createKey('key_a', { balanceUsd: '10', name: 'a', limitPicos: usd('0.1'), expiresAt: NOW + 10 * DAY_MS }))
  await ledger.operate(createKey('key_b', { accountId: 'acc_a', name: 'b' }))
  await ledger.operate(createKey('key_c', { balanceUsd: '99', name: 'c' }))
  const pay = async (keyId: string, requestId: string, now: number): Promise<void> => {
    await ledger.hold(holdRequest(requestId, keyId, usd('0.02'), { now }))
    expect(await ledger.settle(settlement(requestId, CENT, { now }))).toBe('settled')
  }
  // 1.5 cents each: one yesterday, of each key one today, and another account's.
  await pay('key_a', 'req_1', NOW - DAY_MS)
  await pay('key_a', 'req_2', NOW)
  await pay('key_b', 'req_3', NOW)
  await pay('key_c', 'req_4', NOW)
  const factsOf = factsFrom(reads, () => NOW, NO_PLANS)
  const rules: readonly AlertRule[] = [
    { kind: 'balance_below', thresholdPicos: usd('10') },
    { kind: 'daily_spend_above', thresholdPicos: usd('0.029'), keyId: null },
    { kind: 'daily_spend_above', thresholdPicos: usd('0.014'), keyId: 'key_a' },
    { kind: 'key_expires', days: 10, keyId: null },
    { kind: 'key_limit_used', percent: 30, keyId: null },
  ]
  const facts = await factsOf('acc_a', rules)
  expect(facts).toMatchObject({ at: NOW, balancePicos: usd('9.955'), spentTodayPicos: usd('0.03') })
  expect(facts?.keys.map(({ id, spentPicos, spentTodayPicos, limitPicos }) => ({ id, spentPicos, spentTodayPicos, limitPicos }))).toEqual([
    { id: 'key_b', spentPicos: usd('0.015'), spentTodayPicos: usd('0'), limitPicos: null },
    { id: 'key_a', spentPicos: usd('0.03'), spentTodayPicos: usd('0.015'), limitPicos: usd('0.1') },
  ])
  if (facts === undefined) throw new Error('no facts')
  for (const rule of rules) expect(judge(rule, facts, new Map()).crossings, rule.kind).toHaveLength(1)
  // Only what is asked for is read, and a key of another account is none.
  expect(await factsOf('acc_a', rules.slice(0, 1))).toMatchObject({ keys: [], spentTodayPicos: usd('0') })
  expect((await factsOf('acc_a', [{ kind: 'key_expires', days: 1, keyId: 'key_a' }]))?.keys.map(({ id }) => id)).toEqual(['key_a'])
  expect((await factsOf('acc_a', [{ kind: 'key_expires', days: 1, keyId: 'key_c' }]))?.keys).toEqual([])
  expect(await factsOf('acc_nobody', rules)).toBeUndefined()
  await reads.close()
  expect(await factsOf('acc_a', rules)).toBeUndefined()
  await ledger.close()
})

test('budgets have what was spent in their present window, the least cap holds, and a clock that steps back brings no window back', async () => {
  const { ledger, path } = await openTestLedger()
  const reads = new Reads({ place: { kind: 'sqlite', path }, startThread, onFault: () => undefined })
  await ledger.operate(createKey('key_a', { balanceUsd: '10', name: 'a' }))
  await ledger.operate(createKey('key_b', { accountId: 'acc_a', name: 'b' }))
  await ledger.operate(createKey('key_c', { balanceUsd: '10', name: 'c' }))
  const budget = async (keyId: string | null, per: Per, cap: string, more: object = {}): Promise<void> => {
    const of = { accountId: 'acc_a', setBy: 'operator' as const, now: NOW, ...more }
    expect(await ledger.operate({ kind: 'setBudget', ...of, keyId, per, capPicos: usd(cap) })).toMatchObject({ result: 'done' })
  }
  await budget('key_a', 'hour', '5')
  await budget('key_a', 'day', '4')
  await budget('key_a', 'day', '3', { setBy: 'customer' })
  await budget(null, 'month', '2')
  await budget('key_c', 'day', '1', { accountId: 'acc_c' })
  for (const [requestId, keyId, now] of [
    ['req_1', 'key_a', NOW],
    ['req_2', 'key_a', NOW + HOUR_MS],
    ['req_3', 'key_b', NOW + HOUR_MS],
    ['req_4', 'key_c', NOW + HOUR_MS],
  ] as const) {
    await ledger.hold(holdRequest(requestId, keyId, usd('0.02'), { now }))
    expect(await ledger.settle(settlement(requestId, CENT, { now }))).toBe('settled')
  }
  let now = NOW + HOUR_MS
  const budgets = [
    { per: 'day', capPicos: usd('4') },
    { per: 'hour', capPicos: usd('3') },
  ] as const
  const plans = new Map([
    ['default', { name: 'default', models: [], budgets }],
    ['free', { name: 'free', models: [] }],
  ])
  const catalog: Catalog = { models: new Map(), plans }
  const factsOf = factsFrom(
    reads,
    () => now,
    () => catalog,
  )
  const window = (per: Per, cap: string, spent: string) => ({
    per,
    capPicos: usd(cap),
    spentPicos: usd(spent),
    resetsAt: windowAt(per, hourAt(NOW + HOUR_MS)).end * HOUR_MS,
  })
  const ofKey = [window('day', '3', '0.03'), window('hour', '5', '0.015')]
  const anyKey = await factsOf('acc_a', [{ kind: 'key_limit_used', percent: 80, keyId: null }])
  expect(anyKey?.windows).toEqual([window('month', '2', '0.045')])
  // Of a plan: over all keys of the account that are of it, each with its own windows.
  expect(anyKey?.plans).toEqual([{ name: 'default', windows: [window('day', '4', '0.045'), window('hour', '3', '0.03')] }])
  expect(anyKey?.keys.map(({ id, windows }) => [id, windows])).toEqual([
    ['key_b', []],
    ['key_a', ofKey],
  ])
  now = NOW
  const oneKey = await factsOf('acc_a', [{ kind: 'key_limit_used', percent: 80, keyId: 'key_a' }])
  expect([oneKey?.windows, oneKey?.plans]).toEqual([undefined, undefined])
  expect(oneKey?.keys.map(({ id, windows }) => [id, windows])).toEqual([['key_a', ofKey]])
  // No other rule reads them.
  expect((await factsOf('acc_a', [{ kind: 'key_expires', days: 9, keyId: 'key_a' }]))?.keys[0]).not.toHaveProperty('windows')
  await reads.close()
  await ledger.close()
})

test('of more budgets than are read at once the newest keys are whole, the others are not judged, and an alert about one of these sees it all the same', async () => {
  const { ledger, path } = await openTestLedger()
  const reads = new Reads({ place: { kind: 'sqlite', path }, startThread, onFault: () => undefined })
  await ledger.operate(createKey('key_many', { balanceUsd: '10' }))
  const later = Array.from({ length: 67 }, (_, n) => `key_${n}`)
  await Promise.all(later.map((keyId) => ledger.operate(createKey(keyId, { accountId: 'acc_many' }))))
  const budget = { kind: 'setBudget', accountId: 'acc_many', capPicos: usd('1'), setBy: 'operator', now: NOW } as const
  const pers = ['hour', 'day', 'week'] as const
  await Promise.all(['key_many', ...later].flatMap((keyId) => pers.map((per) => ledger.operate({ ...budget, keyId, per }))))
  const factsOf = factsFrom(reads, () => NOW, NO_PLANS)
  const rule = { kind: 'key_limit_used', percent: 80 } as const
  const counts = async (keyId: string | null, ...more: AlertRule[]) =>
    (await factsOf('acc_many', [{ ...rule, keyId }, ...more]))?.keys.map(({ windows }) => windows?.length)
  expect(await counts(null)).toEqual([...Array<number>(66).fill(3), undefined, undefined])
  expect(await counts('key_many')).toEqual([3])
  expect(await counts(null, { ...rule, keyId: 'key_many' })).toEqual([...Array<number>(66).fill(3), undefined, 3])
  await reads.close()
  await ledger.close()
})
