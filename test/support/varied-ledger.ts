/** A random ledger in a file that has something of everything, and every question that can be asked of it, with every page of the answers. */

import { picos, ZERO } from '../../src/core/money.ts'
import { OUTCOMES } from '../../src/core/outcome.ts'
import { costOf, type Prices, type Rates } from '../../src/core/pricing.ts'
import { type UpstreamCost, WHOLE_FACTOR } from '../../src/core/upstream-cost.ts'
import { NO_USAGE } from '../../src/core/usage.ts'
import { DAY_MS, dayAt } from '../../src/core/utc.ts'
import { hourAt, PERS } from '../../src/core/windows.ts'
import { EVERY_ACCOUNT_ORDER, EVERY_KEY_ORDER } from '../../src/ledger/reading/list-orders.ts'
import type { Question } from '../../src/ledger/reading/reports.ts'
import { createKey, holdTask, type Machine, NOW, openMachine, operateTask, RATES, settleTask, sha256, usd } from './ledger.ts'
import type { Random } from './seed.ts'

export const ACCOUNTS = ['acc_a', 'acc_b', 'acc_Z'] as const
export const KEYS = ['key_a', 'key_b', 'key_Z', 'key_~', 'key_é'] as const
/** Names whose order differs from language to language. */
const NAMES = ['Zebra', 'alpha', 'Älpha', 'alpha-b', 'ALPHA c', 'zebra_', '100%', 'a b'] as const
const MODELS = ['haiku', 'Opus', 'opus-4'] as const
const PRICES: readonly Rates[] = [RATES, { ...RATES, input: picos(4_000_000n) }]
export const DAYS = 3
/** Of another catalogue, dearer where the prompt is long. */
export const OTHER_PRICES: Prices = { rates: RATES, levels: [{ abovePromptTokens: 1_000, rates: { ...RATES, input: picos(9_000_001n) } }] }

/** What calls cost us: at one upstream a part of our prices, at the other its own by the length of the prompt. */
const COSTS = new Map<string, UpstreamCost>([
  ['vendor', { prices: { rates: RATES, levels: [] }, factorMillionths: 333_333 }],
  ['other', { prices: OTHER_PRICES, factorMillionths: WHOLE_FACTOR }],
])

/** `count`: how many requests. */
export function writeVaried(path: string, random: Random, count: number): Machine {
  const machine = openMachine(path)
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const upTo = (most: number): number => Math.floor(random() * most)
  ACCOUNTS.forEach((accountId, index) => {
    const topUp = { creditId: `crd_${accountId}`, amountPicos: usd('1000'), ref: `invoice ${index}` }
    machine.ask(operateTask({ kind: 'createAccount', accountId, name: NAMES[index] ?? '', topUp, now: NOW - index }))
  })
  KEYS.forEach((keyId, index) => {
    const more = { accountId: ACCOUNTS[index % 2] ?? 'acc_a', name: NAMES[index] ?? '', display: index % 2 === 0 ? 'sk-…AbCd' : 'sk-…abcd' }
    machine.ask(operateTask(createKey(keyId, { ...more, limitPicos: index === 1 ? usd('900') : null, now: NOW + index })))
  })
  writeActs(machine, upTo)
  for (let n = 0; n < count; n++) {
    const requestId = `req_${upTo(10)}${String(n).padStart(5, '0')}`
    const rates = one(PRICES)
    const usage = { ...NO_USAGE, input: upTo(900), output: upTo(300), cacheRead: one([0, upTo(5_000)]), cacheWrite5m: one([0, upTo(900)]) }
    const outcome = one(OUTCOMES)
    const isWaived = outcome === 'fault' || outcome === 'drain' || outcome === 'recovered'
    const price = costOf(usage, rates)
    const at = NOW + upTo(DAYS * DAY_MS)
    const more = { costs: one([undefined, COSTS]), tag: one([undefined, undefined, 'team:a', 'Team/b', `user-${upTo(30)}`]) }
    machine.ask(holdTask(requestId, one(KEYS), usd(one(['0.05', '0.0001'])), { modelId: one(MODELS), rates, now: at - 500, ...more }))
    machine.ask(
      settleTask(requestId, usage, {
        outcome,
        usageSource: one(['final', 'partial', 'estimated', 'none']),
        ...(isWaived ? { costPicos: ZERO, waivedPicos: price } : { costPicos: price, waivedPicos: ZERO }),
        now: at,
        hasMoved: n % 7 === 0,
        upstream: one([undefined, { name: 'vendor', model: 'vendor-1', messageId: `msg_${n}` }, { name: 'other', model: 'vendor-2' }]),
        attempts: n % 5 === 0 ? 2 : 1,
        otherAttempts: n % 5 === 0 ? [attemptAt(at)] : [],
      }),
    )
    if (n % 40 === 3) credit(machine, `crd_${n}`, one(ACCOUNTS), at)
  }
  return machine
}

function writeActs(machine: Machine, upTo: (most: number) => number): void {
  const codes = Array.from({ length: 4 }, (_, index) => ({ codeHash: sha256(`code-${index}`), display: `TG-…${index}` }))
  const batch = { amountPicos: usd('25'), expiresAt: null, codes, now: NOW }
  machine.ask(operateTask({ kind: 'createCodes', batchId: 'batch_1', name: 'spring', ...batch }))
  machine.ask(operateTask({ kind: 'redeemCode', codeHash: sha256('code-2'), accountId: 'acc_b', creditId: 'crd_code', now: NOW + 5 }))
  machine.ask(operateTask({ kind: 'disableCodes', batchId: 'batch_1', now: NOW + 6 }))
  const rotated = { keyId: 'key_b', secretHash: sha256('new'), display: 'sk-…wxyz' }
  machine.ask(operateTask({ kind: 'rotateKey', ...rotated, oldValidUntil: NOW + DAY_MS, now: NOW + 7 }))
  const budget = { kind: 'setBudget', accountId: 'acc_b', keyId: null, per: 'month', now: NOW + 7 } as const
  machine.ask(operateTask({ ...budget, capPicos: usd('7'), setBy: 'operator' }))
  machine.ask(operateTask({ ...budget, capPicos: usd('2'), setBy: 'customer' }))
  machine.ask(operateTask({ kind: 'setKeyActive', keyId: 'key_Z', isActive: upTo(2) === 0, now: NOW + 8 }))
  machine.ask(operateTask({ kind: 'setKeyActive', keyId: 'key_Z', isActive: true, now: NOW + 9 }))
  for (const [index, per] of PERS.entries()) {
    const budget = { kind: 'setBudget', accountId: 'acc_a', per, now: NOW + 11 } as const
    machine.ask(operateTask({ ...budget, keyId: 'key_a', capPicos: usd(`${900 + index}`), setBy: 'operator' }))
    machine.ask(operateTask({ ...budget, keyId: index % 2 === 0 ? null : 'key_Z', capPicos: usd(`${800 + index}`), setBy: 'operator' }))
  }
  machine.ask(
    operateTask({
      kind: 'setBudget',
      accountId: 'acc_a',
      keyId: 'key_a',
      per: 'day',
      capPicos: usd('700'),
      setBy: 'customer',
      now: NOW + 12,
    }),
  )
  machine.ask(operateTask({ kind: 'setKeyExpiry', keyId: 'key_~', expiresAt: NOW + 99 * DAY_MS, now: NOW + 10 }))
}

function credit(machine: Machine, creditId: string, accountId: string, now: number): void {
  const amountPicos = picos(-1_230_000_000_001n)
  const reason = { actor: 'os:a b', address: 'test', reason: 'it’s "so"' }
  machine.ask(operateTask({ kind: 'credit', creditKind: 'refund', creditId, accountId, amountPicos, ref: `r ${creditId}`, now }, reason))
}

const attemptAt = (startedAt: number) => ({
  number: 1,
  upstream: { name: 'vendor', model: 'vendor-1' },
  status: 529,
  cause: 'overloaded',
  usageSource: 'none' as const,
  usage: { ...NO_USAGE, input: 1 + (startedAt % 500) },
  startedAt,
  durationMs: 30,
})

/** What is read from rows. */
export type Asked = Exclude<Question, { kind: 'statementKey' }>

const FIRST_DAY = dayAt(NOW)
const LAST_DAY = FIRST_DAY + DAYS
const [FROM, TO] = [NOW + DAY_MS / 2, NOW + 2 * DAY_MS]

/** Every question once, and each filter; `requestIds`: some of the ledger's. */
export function everyQuestion(requestIds: readonly string[]): readonly Asked[] {
  const limits = [1, 7, 1_000]
  const pages = limits.flatMap((limit): readonly Asked[] => [
    ...ACCOUNTS.flatMap((accountId): readonly Asked[] => [
      { kind: 'accountKeys', accountId, limit },
      { kind: 'accountReceipts', accountId, limit },
      { kind: 'accountReceipts', accountId, limit, from: FROM, to: TO, modelIds: ['Opus'], usageSource: 'estimated' },
      { kind: 'accountReceipts', accountId, limit, keyIds: ['key_a'], outcomes: ['fault', 'cut'], formats: ['messages', 'chat'] },
      { kind: 'accountCredits', accountId, limit },
      { kind: 'allReceipts', of: { accountIds: [accountId] }, limit, only: 'waived' },
      { kind: 'allReceipts', of: { accountIds: [accountId, 'acc_a'] }, limit, modelIds: ['haiku', 'Opus'], upstreams: ['(none)', 'main'] },
      { kind: 'allReceipts', limit, tag: 'Team/b' },
      { kind: 'accountReceipts', accountId, limit, tag: 'team:a' },
      { kind: 'credits', accountId, limit },
    ]),
    ...KEYS.flatMap((keyId): readonly Asked[] => [
      { kind: 'receipts', keyId, limit },
      { kind: 'receipts', keyId, limit, from: FROM, to: TO, outcome: 'complete' },
      { kind: 'allReceipts', of: { keyIds: [keyId] }, limit, only: 'over hold' },
      { kind: 'daily', keyId, fromDay: FIRST_DAY, toDay: LAST_DAY, modelId: null, limit },
      { kind: 'daily', keyId, fromDay: FIRST_DAY, toDay: LAST_DAY, modelId: 'opus-4', limit },
    ]),
    ...['', 'a', 'A', 'al', 'alpha', 'z', 'Z', 'ä', '100%', 'acc_', 'acc_a', 'key_', 'key_~', 'AbCd', 'sk-…abcd', 'nobody'].flatMap(
      (search): readonly Asked[] => [
        { kind: 'accounts', search, limit },
        { kind: 'keys', search, limit },
        { kind: 'orderedAccounts', order: '-balance', search, limit },
        { kind: 'orderedKeys', order: 'name', search, limit, onlyActive: true },
      ],
    ),
    ...EVERY_ACCOUNT_ORDER.map((order): Asked => ({ kind: 'orderedAccounts', order, limit })),
    ...EVERY_KEY_ORDER.map((order): Asked => ({ kind: 'orderedKeys', order, limit })),
    { kind: 'orderedKeys', order: '-spent', accountId: 'acc_a', onlyActive: true, limit },
    ...(['cost', 'input', 'output', 'time'] as const).flatMap((order): readonly Asked[] => [
      { kind: 'orderedReceipts', order, to: TO, limit },
      {
        kind: 'orderedReceipts',
        order,
        to: TO,
        of: { accountIds: ['acc_a'] },
        modelIds: ['opus-4', 'haiku'],
        outcomes: ['complete', 'fault'],
        limit,
      },
      {
        kind: 'orderedReceipts',
        order,
        to: TO,
        of: { keyIds: ['key_a'] },
        tag: 'team:a',
        below: { value: '400', requestId: 'req_z' },
        limit,
      },
    ]),
    { kind: 'names', accountIds: ['acc_a', 'acc_none'], keyIds: ['key_a', 'key_b'] },
    { kind: 'allReceipts', limit },
    { kind: 'allReceipts', limit, outcomes: ['drain', 'fault'], formats: ['chat'] },
    { kind: 'attempts', limit },
    { kind: 'credits', limit },
    { kind: 'credits', limit, ref: 'invoice 1' },
    { kind: 'codeBatches', limit },
    { kind: 'audit', limit },
    { kind: 'audit', limit, target: 'key_b', from: NOW, to: TO },
    { kind: 'audit', limit, actor: 'os:a b' },
    { kind: 'audit', limit, action: 'credit' },
    { kind: 'alertFacts', day: FIRST_DAY, limit },
    { kind: 'repriced', prices: new Map([['opus-4', OTHER_PRICES]]), limit },
  ])
  return [...pages, ...whole(requestIds)]
}

function whole(requestIds: readonly string[]): readonly Asked[] {
  const by = ['day', 'model', 'key', 'tag'] as const
  const days = Array.from({ length: DAYS + 1 }, (_, index) => FIRST_DAY + index)
  return [
    ...ACCOUNTS.flatMap((accountId): readonly Asked[] => [
      { kind: 'account', accountId },
      { kind: 'budgets', accountId, keyId: null, plans: ['default', 'none'], now: NOW },
      ...KEYS.map((keyId) => ({ kind: 'budgets', accountId, keyId, plans: [], now: NOW }) as const),
      { kind: 'accountPlans', accountId },
      { kind: 'accountKey', accountId, keyId: 'key_b' },
      { kind: 'budgetWindows', accountId, hour: hourAt(NOW + DAY_MS) },
      { kind: 'budgetWindows', accountId, keyId: 'key_a', hour: hourAt(TO) },
      ...by.flatMap((one): readonly Asked[] => [
        { kind: 'spend', accountId, fromDay: FIRST_DAY, toDay: LAST_DAY, by: one },
        { kind: 'spend', accountId, fromDay: FIRST_DAY, toDay: LAST_DAY, by: one, modelId: 'haiku' },
        { kind: 'spend', accountId, fromDay: FIRST_DAY, toDay: FIRST_DAY, by: one, keyId: 'key_a' },
        { kind: 'spend', accountId, fromDay: FIRST_DAY, toDay: LAST_DAY, by: one, tag: 'team:a' },
        ...days.flatMap((day): readonly Asked[] => [
          { kind: 'spendHours', accountId, day, by: one },
          { kind: 'spendHours', accountId, day, by: one, tag: 'Team/b' },
          { kind: 'spendHours', accountId, day, by: one, modelId: 'Opus' },
        ]),
      ]),
      ...requestIds.map((requestId) => ({ kind: 'accountReceipt', accountId, requestId }) as const),
    ]),
    ...KEYS.map((keyId) => ({ kind: 'key', keyId }) as const),
    ...days.map((day) => ({ kind: 'usageOfDay', day }) as const),
    ...[{}, { accountIds: ['acc_a'] }, { accountIds: ['acc_a', 'acc_b'], modelIds: ['haiku', 'Opus'], upstreams: ['main'] }].map(
      (of) => ({ kind: 'margin', fromDay: FIRST_DAY, toDay: LAST_DAY, ...of }) as const,
    ),
    ...requestIds.flatMap((requestId): readonly Asked[] => [
      { kind: 'anyReceipt', requestId },
      { kind: 'receipt', keyId: 'key_a', requestId },
      { kind: 'attempts', requestId, limit: 9 },
    ]),
    { kind: 'codeBatch', batch: 'spring' },
    { kind: 'codeBatch', batch: 'batch_1' },
  ]
}
