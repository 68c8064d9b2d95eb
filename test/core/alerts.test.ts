/** An alert fires once a crossing: whatever happens between two looks, none is told twice and none is missed that a look can see. Rules: pages.md "Alerts". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { eventOf, mailOf, testEventOf } from '../../src/core/alert-event.ts'
import { type AccountFacts, type AlertRule, judge, type KeyFacts, type Marks } from '../../src/core/alerts.ts'
import { type Picos, parseUsd, picos } from '../../src/core/money.ts'
import { DAY_MS } from '../../src/core/utc.ts'

const NOON = 20_000 * DAY_MS + DAY_MS / 2
const usd = (text: string): Picos => parseUsd(text) ?? picos(0n)
const key = (some: Partial<KeyFacts> = {}): KeyFacts => ({
  id: 'key_1',
  name: 'one',
  isActive: true,
  expiresAt: null,
  limitPicos: null,
  spentPicos: usd('0'),
  spentTodayPicos: usd('0'),
  ...some,
})
const facts = (some: Partial<AccountFacts> = {}): AccountFacts => ({
  at: NOON,
  balancePicos: usd('100'),
  spentTodayPicos: usd('0'),
  keys: [],
  ...some,
})

/** How often each look fires. */
function looks(rule: AlertRule, seen: readonly AccountFacts[]): readonly number[] {
  let marks: Marks = new Map()
  return seen.map((one) => {
    const judged = judge(rule, one, marks)
    marks = judged.marks
    return judged.crossings.length
  })
}

test('a balance fires below its threshold, not at it, once, and again after it was above', () => {
  const rule: AlertRule = { kind: 'balance_below', thresholdPicos: usd('10') }
  const seen = ['11', '10', '9.999999999999', '5', '-1', '10', '9', '8'].map((text) => facts({ balancePicos: usd(text) }))
  expect(looks(rule, seen)).toEqual([0, 0, 1, 0, 0, 0, 1, 0])
})

test('a day fires above its threshold once a UTC day, of the account or of one key', () => {
  const seen = [
    ['10', 0],
    ['10.000000000001', 0],
    ['30', 0],
    ['0', 1],
    ['11', 1],
    ['12', 2],
    ['13', 2],
  ] as const
  const account: AlertRule = { kind: 'daily_spend_above', thresholdPicos: usd('10'), keyId: null }
  const spent = seen.map(([text, day]) =>
    facts({ at: NOON + day * DAY_MS, spentTodayPicos: usd(text), keys: [key({ spentTodayPicos: usd('99') })] }),
  )
  expect(looks(account, spent)).toEqual([0, 1, 0, 0, 1, 1, 0])
  const ofKey: AlertRule = { ...account, keyId: 'key_1' }
  const byKey = seen.map(([text, day]) =>
    facts({ at: NOON + day * DAY_MS, keys: [key({ spentTodayPicos: usd(text) }), key({ id: 'key_2', spentTodayPicos: usd('99') })] }),
  )
  expect(looks(ofKey, byKey)).toEqual([0, 1, 0, 0, 1, 1, 0])
})

test('a key’s end fires within its days once, again after an extension that does not reach out of them, never after the end', () => {
  const rule: AlertRule = { kind: 'key_expires', days: 7, keyId: null }
  const in_ = (days: number, some: Partial<KeyFacts> = {}): AccountFacts =>
    facts({ keys: [key({ expiresAt: NOON + days * DAY_MS, ...some })] })
  expect(looks(rule, [in_(7.001), in_(7), in_(7), in_(8), in_(6), in_(5), in_(0), in_(-1)])).toEqual([0, 1, 0, 0, 1, 1, 0, 0])
  expect(looks(rule, [in_(1, { isActive: false }), facts({ keys: [key()] })])).toEqual([0, 0])
})

test('a limit fires when the share is reached, for each key alone, and again once the limit is another', () => {
  const rule: AlertRule = { kind: 'key_limit_used', percent: 80, keyId: null }
  const used = (spent: string, limit: string | null, id = 'key_1'): KeyFacts =>
    key({ id, spentPicos: usd(spent), limitPicos: limit === null ? null : usd(limit) })
  const seen = [
    [used('7.999999999999', '10'), used('8', '10', 'key_2')],
    [used('8', '10'), used('9', '10', 'key_2')],
    [used('9', '11'), used('10', '10', 'key_2')],
    [used('9', '20'), used('10', null, 'key_2')],
    [used('16', '20'), used('10', '0', 'key_2')],
  ].map((keys) => facts({ keys }))
  expect(looks(rule, seen)).toEqual([1, 1, 1, 0, 1])
  expect(looks({ ...rule, keyId: 'key_1' }, seen)).toEqual([0, 1, 1, 0, 1])
})

test('a key that a look does not see keeps its mark', () => {
  const rule: AlertRule = { kind: 'key_limit_used', percent: 50, keyId: null }
  const full = facts({ keys: [key({ limitPicos: usd('1'), spentPicos: usd('1') })] })
  expect(looks(rule, [full, facts(), full])).toEqual([1, 0, 0])
})

const amounts = fc.bigInt({ min: -5n, max: 20n }).map(picos)
const someKeys = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom('key_1', 'key_2', 'key_3'),
    name: fc.constant('name'),
    isActive: fc.boolean(),
    expiresAt: fc.option(fc.integer({ min: 0, max: 12 }).map((days) => NOON + days * DAY_MS)),
    limitPicos: fc.option(fc.bigInt({ min: 0n, max: 9n }).map(picos)),
    spentPicos: fc.bigInt({ min: 0n, max: 9n }).map(picos),
    spentTodayPicos: fc.bigInt({ min: 0n, max: 20n }).map(picos),
  }),
  { selector: ({ id }) => id },
)
const someFacts = fc.record({
  at: fc.integer({ min: 0, max: 12 }).map((days) => NOON + days * DAY_MS),
  balancePicos: amounts,
  spentTodayPicos: fc.bigInt({ min: 0n, max: 20n }).map(picos),
  keys: someKeys,
})
const keyIds = fc.option(fc.constantFrom('key_1', 'key_2'))
const someRules: fc.Arbitrary<AlertRule> = fc.oneof(
  fc.record({ kind: fc.constant('balance_below' as const), thresholdPicos: amounts }),
  fc.record({ kind: fc.constant('daily_spend_above' as const), thresholdPicos: amounts, keyId: keyIds }),
  fc.record({ kind: fc.constant('key_expires' as const), days: fc.integer({ min: 1, max: 9 }), keyId: keyIds }),
  fc.record({ kind: fc.constant('key_limit_used' as const), percent: fc.integer({ min: 1, max: 100 }), keyId: keyIds }),
)

test('the same facts never fire twice, however often they are looked at and whatever was before', () => {
  fc.assert(
    fc.property(someRules, fc.array(someFacts, { minLength: 1, maxLength: 12 }), (rule, seen) => {
      const twice = looks(
        rule,
        seen.flatMap((one) => [one, one]),
      )
      expect(twice.filter((_, index) => index % 2 === 1)).toEqual(seen.map(() => 0))
    }),
  )
})

test('what fires does not depend on looks in between that see nothing new, and a look that fires says so of a subject at most once', () => {
  fc.assert(
    fc.property(someRules, fc.array(someFacts, { minLength: 1, maxLength: 12 }), (rule, seen) => {
      let marks: Marks = new Map()
      for (const one of seen) {
        const { crossings, marks: after } = judge(rule, one, marks)
        const subjects = crossings.map((crossing) => crossing.key?.id ?? '')
        expect(new Set(subjects).size).toBe(subjects.length)
        for (const [index, { mark }] of crossings.entries()) {
          expect(after.get(subjects[index] ?? '')).toBe(mark)
          expect(marks.get(subjects[index] ?? '')).not.toBe(mark)
        }
        // Whoever starts afresh with these facts finds just what is marked now of what they name.
        const afresh = judge(rule, one, new Map()).marks
        for (const [subject, mark] of afresh) expect(after.get(subject)).toBe(mark)
        for (const { id } of one.keys) if (!afresh.has(id)) expect(after.has(id)).toBe(false)
        marks = after
      }
    }),
  )
})

test('each kind is told with its figures, exact, and a mail’s subject is one line of ours whatever a key is called', () => {
  const evil = key({
    name: 'x\r\nBcc: all@example.com\u2028y\u202E',
    expiresAt: NOON + DAY_MS,
    limitPicos: usd('1'),
    spentPicos: usd('0.9'),
  })
  const told = (rule: AlertRule, crossing = { mark: '', key: evil }) =>
    eventOf({ alertId: 'alert_1', accountId: 'acct_1', rule, facts: facts({ balancePicos: usd('1.5') }), crossing })
  const base = { alert_id: 'alert_1', account_id: 'acct_1' }
  const about = { key: { id: 'key_1', name: evil.name } }
  const timestamp = '2024-10-04T12:00:00.000Z'
  const rules: readonly [AlertRule, object, string][] = [
    [
      { kind: 'key_expires', days: 7, keyId: null },
      { ...base, ...about, days: 7, expires_at: '2024-10-05T12:00:00.000Z' },
      'A key expires within 7 days',
    ],
    [
      { kind: 'key_expires', days: 1, keyId: null },
      { ...base, ...about, days: 1, expires_at: '2024-10-05T12:00:00.000Z' },
      'A key expires within a day',
    ],
    [
      { kind: 'key_limit_used', percent: 80, keyId: null },
      { ...base, ...about, percent: 80, limit_usd: '1', spent_usd: '0.9' },
      'A key has used 80 % of its limit',
    ],
    [
      { kind: 'daily_spend_above', thresholdPicos: usd('0.5'), keyId: 'key_1' },
      { ...base, ...about, threshold_usd: '0.5', spent_today_usd: '0' },
      'More than $0.50 spent today',
    ],
  ]
  for (const [rule, data, subject] of rules) {
    const event = told(rule)
    expect(event as unknown).toEqual({ type: `alert.${rule.kind}`, timestamp, data })
    const mail = mailOf(event, { page: 'https://gateway.example/cabinet/alerts', accountName: 'North\nStar' })
    expect(mail.subject).toBe(subject)
    expect(mail.text).toContain('Account: North Star (acct_1)\n')
    expect(mail.text).toContain('Key: x Bcc: all@example.com y  (key_1)\n')
    expect(mail.text).toContain('https://gateway.example/cabinet/alerts')
  }
  const balance = eventOf({
    alertId: 'alert_1',
    accountId: 'acct_1',
    rule: { kind: 'balance_below', thresholdPicos: usd('2') },
    facts: facts({ balancePicos: usd('1.5') }),
    crossing: { mark: 'below' },
  })
  expect(balance.data).toEqual({ ...base, threshold_usd: '2', balance_usd: '1.5' })
  expect(mailOf(testEventOf('acct_1', NOON), { page: '', accountName: '' }).subject).toBe('Test of an alert')
})

test('a mail has money in cents, and all digits of less than a cent and of what cents would show as the threshold; the webhook keeps every digit', () => {
  const told = (threshold: string, balance: string) =>
    eventOf({
      ...{ alertId: 'alert_1', accountId: 'acct_1', crossing: { mark: 'below' } },
      rule: { kind: 'balance_below', thresholdPicos: usd(threshold) },
      facts: facts({ balancePicos: usd(balance) }),
    })
  const mail = (threshold: string, balance: string) => {
    const { subject, text } = mailOf(told(threshold, balance), { page: '', accountName: '' })
    return [subject, text.split('\n')[0]]
  }
  expect(mail('5', '4.996000000001')).toEqual(['Balance below $5.00', 'The balance is $4.996000000001.'])
  expect(mail('12.5', '0.000123')).toEqual(['Balance below $12.50', 'The balance is $0.000123.'])
  expect(mail('5', '-3.5')).toEqual(['Balance below $5.00', 'The balance is -$3.50.'])
  expect(mail('5', '0')).toEqual(['Balance below $5.00', 'The balance is $0.00.'])
  expect(told('5', '4.996000000001').data.balance_usd).toBe('4.996000000001')
  expect(mailOf(told('5', '4'), { page: '', accountName: '' }).text).toContain('Account: acct_1\n')
})
