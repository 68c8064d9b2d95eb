/** An alert on budgets fires once a window and threshold, of the key or the account, whatever turns between two looks. Rules: pages.md "Alerts". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { eventOf, mailOf } from '../../src/core/alert-event.ts'
import { type AccountFacts, type AlertRule, type BudgetWindow, judge, type KeyFacts, type Marks } from '../../src/core/alerts.ts'
import { type Picos, parseUsd, picos } from '../../src/core/money.ts'
import { HOUR_MS, hourAt, PERS, type Per, windowAt } from '../../src/core/windows.ts'

/** A Friday, the last but one hour of a month. */
const START = Date.UTC(2026, 6, 31, 22)
const ANY: AlertRule = { kind: 'key_limit_used', percent: 80, keyId: null }
const usd = (text: string): Picos => parseUsd(text) ?? picos(0n)
const window = (per: Per, spent: string, at = START, cap = '10'): BudgetWindow => ({
  per,
  capPicos: usd(cap),
  spentPicos: usd(spent),
  resetsAt: windowAt(per, hourAt(at)).end * HOUR_MS,
})
const key = (windows: readonly BudgetWindow[], some: Partial<KeyFacts> = {}): KeyFacts => ({
  id: 'key_1',
  name: 'one',
  isActive: true,
  expiresAt: null,
  limitPicos: null,
  spentPicos: usd('0'),
  spentTodayPicos: usd('0'),
  windows,
  ...some,
})
const facts = (some: Partial<AccountFacts>): AccountFacts => ({
  at: START,
  balancePicos: usd('100'),
  spentTodayPicos: usd('0'),
  keys: [],
  ...some,
})

/** What each look fires: of which key and window. */
function looks(rule: AlertRule, seen: readonly AccountFacts[]): readonly (readonly string[])[] {
  let marks: Marks = new Map()
  return seen.map((one) => {
    const judged = judge(rule, one, marks)
    marks = judged.marks
    return judged.crossings.map((crossing) => `${crossing.key?.id ?? 'account'} ${crossing.window?.per ?? 'limit'}`)
  })
}

const MAIL = { page: 'https://x', accountName: '' }

test('a budget fires when the share is reached, once a window, and again in the next one that comes so far', () => {
  const seen = (
    [
      ['7.999999999999', 0],
      ['8', 0],
      ['10.5', 0],
      ['9', 1],
      ['9.5', 1],
      ['1', 2],
      ['8', 2],
    ] as const
  ).map(([spent, hours]) => facts({ at: START + hours * HOUR_MS, keys: [key([window('hour', spent, START + hours * HOUR_MS)])] }))
  const once = ['key_1 hour']
  expect(looks(ANY, seen)).toEqual([[], once, [], once, [], [], once])
  expect(looks({ ...ANY, keyId: 'key_1' }, seen)).toEqual([[], once, [], once, [], [], once])
  expect(looks({ ...ANY, keyId: 'key_2' }, seen).flat()).toEqual([])
  const full = { ...ANY, percent: 100 }
  expect(looks(full, seen)).toEqual([[], [], once, [], [], [], []])
})

test('each window and the limit fire for themselves, of the account only in an alert about any key', () => {
  const both = facts({
    windows: [window('month', '9')],
    keys: [key([window('day', '8'), window('week', '7')], { limitPicos: usd('1'), spentPicos: usd('1') })],
  })
  expect(looks(ANY, [both, both])).toEqual([['key_1 limit', 'account month', 'key_1 day'], []])
  expect(looks({ ...ANY, keyId: 'key_1' }, [both, both])).toEqual([['key_1 limit', 'key_1 day'], []])
})

test('another cap is another threshold; a budget of nothing, one that was taken away and a key that is off fire not, nor again when it is on', () => {
  const of = (cap: string, some: Partial<KeyFacts> = {}): AccountFacts => facts({ keys: [key([window('day', '8', START, cap)], some)] })
  expect(looks(ANY, [of('10'), of('9'), of('0')]).map((fired) => fired.length)).toEqual([1, 1, 0])
  expect(looks(ANY, [of('10'), of('10', { isActive: false }), of('10')]).map((fired) => fired.length)).toEqual([1, 0, 0])
  expect(looks(ANY, [of('10', { isActive: false }), of('10')]).map((fired) => fired.length)).toEqual([0, 1])
  const { marks } = judge(ANY, of('10'), new Map())
  expect(marks.size).toBe(1)
  expect(judge(ANY, facts({ keys: [key([])] }), marks).marks.size).toBe(0)
  const { windows: _, ...unread } = key([])
  expect(judge(ANY, facts({ keys: [unread] }), marks).marks).toEqual(marks)
})

test('over any turning of windows no window is told twice, none that is over, and none is missed that a look sees', () => {
  const steps = fc.array(fc.record({ hours: fc.constantFrom(0, 0, 1, 5, 24, 24 * 8), cents: fc.integer({ min: 0, max: 900 }) }), {
    maxLength: 40,
  })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 100 }), (walk, percent) => {
      let at = START
      let marks: Marks = new Map()
      const spends: (readonly [number, bigint])[] = []
      const told = new Set<string>()
      for (const { hours, cents } of walk) {
        at += hours * HOUR_MS
        spends.push([hourAt(at), BigInt(cents)])
        const windows = PERS.map((per): BudgetWindow => {
          const { start } = windowAt(per, hourAt(at))
          const spent = spends.reduce((sum, [hour, of]) => (hour >= start ? sum + of : sum), 0n)
          return { ...window(per, '0', at), capPicos: picos(1_000n), spentPicos: picos(spent) }
        })
        const judged = judge({ ...ANY, percent }, facts({ at, windows }), marks)
        marks = judged.marks
        for (const { window: one } of judged.crossings) {
          const name = `${one?.per} ${one?.resetsAt}`
          expect(told.has(name)).toBe(false)
          expect(one?.resetsAt).toBeGreaterThan(at)
          told.add(name)
        }
        for (const one of windows)
          expect(told.has(`${one.per} ${one.resetsAt}`)).toBe(one.spentPicos * 100n >= one.capPicos * BigInt(percent))
      }
    }),
  )
})

test('it is told with exact amounts and when the next window begins', () => {
  const told = (crossing: { key?: KeyFacts; window: BudgetWindow }) =>
    eventOf({ alertId: 'alert_1', accountId: 'acct_1', rule: ANY, facts: facts({}), crossing: { mark: '', ...crossing } })
  const ofKey = told({ key: key([]), window: window('week', '8.000000000001') })
  expect(ofKey).toEqual({
    type: 'alert.key_limit_used',
    timestamp: '2026-07-31T22:00:00.000Z',
    data: {
      alert_id: 'alert_1',
      account_id: 'acct_1',
      key: { id: 'key_1', name: 'one' },
      percent: 80,
      per: 'week',
      budget_usd: '10',
      spent_usd: '8.000000000001',
      resets_at: '2026-08-03T00:00:00.000Z',
    },
  })
  expect(mailOf(ofKey, MAIL)).toMatchObject({ subject: 'A key has used 80 % of its budget per week' })
  expect(mailOf(ofKey, MAIL).text).toStartWith(
    'Of its budget of $10.00 per week (UTC) the key has used $8.00. The next week begins at 2026-08-03T00:00:00.000Z.\n\nKey: one',
  )
  const ofAccount = mailOf(told({ window: window('month', '9') }), MAIL)
  expect(ofAccount.subject).toBe('The account has used 80 % of its budget per month')
  expect(ofAccount.text).toStartWith(
    'Of its budget of $10.00 per month (UTC) the account has used $9.00. The next month begins at 2026-08-01T00:00:00.000Z.',
  )
})

test('a budget that a plan has for the account fires in alerts about any key, by plan, and says so', () => {
  const seen = (spent: string): AccountFacts =>
    facts({
      windows: [],
      plans: [
        { name: 'small', windows: [window('day', spent)] },
        { name: 'large', windows: [window('day', '1')] },
      ],
    })
  const judged = judge(ANY, seen('8'), new Map())
  expect(judged.crossings.map(({ plan, window: of }) => [plan, of?.per])).toEqual([['small', 'day']])
  expect(judge(ANY, seen('9'), judged.marks).crossings).toEqual([])
  expect(judge({ ...ANY, keyId: 'key_1' } as AlertRule, seen('8'), new Map()).crossings).toEqual([])
  const [crossing] = judged.crossings
  if (crossing === undefined) throw new Error('none')
  const event = eventOf({ alertId: 'a', accountId: 'acc_1', rule: ANY, facts: seen('8'), crossing })
  expect(event.data).toMatchObject({ percent: 80, plan: 'small', per: 'day', budget_usd: '10', spent_usd: '8' })
  const { subject, text } = mailOf(event, MAIL)
  expect(subject).toBe("The account has used 80 % of its plan's budget per day")
  expect(text).toContain('Plan: small\n')
})
