/** Protects operator.md "Import": LiteLLM's budgets that are full again come as budgets by window where there is such a window here, and are set once. */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect } from 'bun:test'
import { isPostgresRunning, postgresTest } from '../../support/postgres.ts'
import { Workplace } from '../run.ts'
import { keyRow, type LiteLlm, makeLiteLlm } from './litellm.ts'
import { CONFIG, type Document } from './look.ts'

let place: Workplace
let theirs: LiteLlm
beforeEach(async () => {
  place = new Workplace()
  place.write('tollgate.toml', CONFIG)
  if (!isPostgresRunning) return
  theirs = await makeLiteLlm()
  place.env = { LITELLM: theirs.url, KEY: 'x' }
})
afterEach(async () => {
  if (isPostgresRunning) await theirs.close()
  place.remove()
})

const look = (...more: string[]) => place.json<Document>('import', 'litellm', '--from-env', 'LITELLM', ...more)

postgresTest('budgets of an hour, a day, a week and a month come as those, and others as what is left of them now', async () => {
  const durations = ['1h', '24h', '1d', '7d', '1w', '30d', '1mo', '5d', '2h', 'constructor']
  await theirs.insert('LiteLLM_UserTable', { user_id: 'u1', max_budget: 25, spend: 1, budget_duration: '30d', models: [] })
  await theirs.insert(
    'LiteLLM_BudgetTable',
    { budget_id: 'same', max_budget: 2, budget_duration: '1d', created_by: 'x', updated_by: 'x' },
    { budget_id: 'for-life', max_budget: 9, created_by: 'x', updated_by: 'x' },
  )
  const one = { user_id: 'u1', max_budget: 10, spend: 3 }
  await theirs.insert(
    'LiteLLM_VerificationToken',
    ...durations.map((budget_duration, n) => keyRow(`sk-of-a-window-number-${n}`, { ...one, key_alias: budget_duration, budget_duration })),
    keyRow('sk-of-two-days-budgets', { ...one, key_alias: 'same', budget_duration: '1d', budget_id: 'same' }),
    keyRow('sk-of-a-budget-for-life', { ...one, key_alias: 'for life', budget_duration: '1d', budget_id: 'for-life', spend: 5 }),
  )
  const { accounts, findings } = await look()
  expect(accounts).toMatchObject([{ source: 'user:u1', credit_usd_exact: '24', budget: { per: 'month', limit_usd_exact: '25' } }])
  const shown = accounts[0]?.keys.map(({ name, limit_usd_exact, budget }) => [name, limit_usd_exact, budget]) ?? []
  const window = (per: string, amount = 10) => [null, expect.objectContaining({ per, limit_usd_exact: `${amount}` })]
  expect(Object.fromEntries(shown.map(([name, ...more]) => [name, more]))).toEqual({
    '1h': window('hour'),
    '24h': window('day'),
    '1d': window('day'),
    '7d': window('week'),
    '1w': window('week'),
    '30d': window('month'),
    '1mo': window('month'),
    '5d': ['7', null],
    '2h': ['7', null],
    constructor: ['7', null],
    same: window('day', 2),
    'for life': ['4', null],
  })
  const told = findings.map(({ subject, what }) => `${subject}: ${what}`)
  expect(told).toContain(
    'key 7d: its budget is full again every 7d there: here it may spend at most $10 in each week of UTC, and what it spent there does not count',
  )
  expect(told).toContain('key 5d: its budget is full again every 5d there: what is left of it now comes, once; `--per` sets one here')
  expect(told).toContain(
    'key 7d: the budget of user u1 is full again every 30d there: what is left of it now comes, once; here it is topped up, and spends at most $25 in each month of UTC',
  )
  await look('--apply', '--source-stopped')
  const db = new Database(place.ledgerPath, { readonly: true })
  const rows = () =>
    db
      .query("SELECT coalesce(name, ''), per, cap_picos / 1000000000000 FROM budgets LEFT JOIN keys ON number = key_number ORDER BY 1")
      .values()
  try {
    const before = rows()
    expect(before).toEqual([
      ['', 'month', 25],
      ['1d', 'day', 10],
      ['1h', 'hour', 10],
      ['1mo', 'month', 10],
      ['1w', 'week', 10],
      ['24h', 'day', 10],
      ['30d', 'month', 10],
      ['7d', 'week', 10],
      ['same', 'day', 2],
    ])
    expect(await look('--apply', '--source-stopped')).toMatchObject({ accounts: [], already_here: 12 })
    expect(rows()).toEqual(before)
  } finally {
    db.close()
  }
})
