/** What an alert is judged by is what the ledger has of that account, of that key and of today, and nothing of another. Rules: pages.md "Alerts". */

import { expect, test } from 'bun:test'
import { factsFrom } from '../../src/alerts/account-facts.ts'
import { type AlertRule, judge } from '../../src/core/alerts.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS } from '../../src/core/utc.ts'
import { Reads } from '../../src/ledger/reading/reads.ts'
import { createKey, holdRequest, NOW, openTestLedger, settlement, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

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
  const factsOf = factsFrom(reads, () => NOW)
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
