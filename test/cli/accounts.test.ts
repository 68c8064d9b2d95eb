/** `tollgate accounts`: what they make, credit and print, and what they refuse. Rules: operator.md "Keys and accounts". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Workplace } from './run.ts'

type Account = { id: string; name: string; balance_usd: number; is_active: boolean }

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('create, top up, correct, disable and enable', async () => {
  const made = await place.json<Account>('accounts', 'create', '--name', 'acme')
  expect(made).toMatchObject({ name: 'acme', balance_usd: 0, is_active: true })
  expect(await place.json('accounts', 'top-up', 'acme', '25', '--ref', 'invoice-7')).toMatchObject({ balance_usd: 25 })
  expect(await place.json('accounts', 'refund', made.id, '5', '--reason', 'sent twice')).toMatchObject({ balance_usd: 20, amount_usd: -5 })
  expect(await place.json('accounts', 'correct', made.id, '-0.000000000001', '--reason', 'a test')).toMatchObject({
    balance_usd: 20,
    balance_usd_exact: '19.999999999999',
    amount_usd_exact: '-0.000000000001',
  })
  await place.json('keys', 'create', '--name', 'app', '--account', 'acme')
  expect(await place.json('accounts', 'disable', 'acme')).toMatchObject({ is_active: false })
  expect(await place.json('keys', 'show', 'app')).toMatchObject({ is_active: true, is_account_active: false, state: 'disabled' })
  expect(await place.json('accounts', 'enable', 'acme')).toMatchObject({ is_active: true })
})

test('rename gives another name that no other account has', async () => {
  const made = await place.json<Account>('accounts', 'create', 'acme')
  await place.json('accounts', 'create', 'beta')
  expect(await place.json('accounts', 'rename', 'acme', 'Acme Labs')).toMatchObject({ id: made.id, name: 'Acme Labs' })
  expect((await place.run('accounts', 'rename', 'beta', 'Acme Labs')).err).toContain('an account named "Acme Labs" exists')
  expect(await place.run('accounts', 'rename', 'beta', 'acc_1')).toMatchObject({ code: 2, out: '' })
  expect((await place.run('accounts', 'show', 'acme')).code).toBe(2)
})

test("a payment's reference is credited once: given again, the answer is the same and says so", async () => {
  await place.json('accounts', 'create', 'acme')
  const first = await place.json('accounts', 'top-up', 'acme', '25', '--ref', '  Invoice-7 ')
  expect(first).toMatchObject({ balance_usd: 25, amount_usd: 25, already: false })
  const again = await place.json('accounts', 'top-up', 'acme', '25', '--ref', 'Invoice-7')
  expect(again).toEqual({ ...first, already: true })
  expect(await place.run('accounts', 'top-up', 'acme', '25', '--ref', 'Invoice-7')).toMatchObject({
    code: 0,
    out: expect.stringContaining('already: $25.000000 stand under this reference'),
  })
  const other = await place.run('accounts', 'top-up', 'acme', '26', '--ref', 'Invoice-7')
  expect(other).toMatchObject({ code: 2, out: '', err: expect.stringContaining('"Invoice-7" was used by top-up') })
  expect(await place.json('accounts', 'top-up', 'acme', '25', '--ref', 'invoice-7')).toMatchObject({ balance_usd: 50, already: false })
  expect((await place.json<{ data: Account[] }>('accounts', 'list')).data).toMatchObject([{ name: 'acme', balance_usd: 50 }])
})

test('create with a balance and a reference, given twice, is one account', async () => {
  const first = await place.json<Account>('accounts', 'create', 'acme', '--balance', '5', '--ref', 'inv')
  expect(first).toMatchObject({ balance_usd: 5, already: false })
  expect(await place.json('accounts', 'create', 'acme', '--balance', '5', '--ref', 'inv')).toEqual({ ...first, already: true })
  for (const argv of [
    ['acme', '--balance', '6', '--ref', 'inv'],
    ['other', '--balance', '5', '--ref', 'inv'],
    ['other', '--ref', 'inv2'],
  ])
    expect((await place.run('accounts', 'create', ...argv)).code, argv.join(' ')).toBe(2)
  expect((await place.json<{ data: Account[] }>('accounts', 'list')).data).toHaveLength(1)
})

test('refuses what cannot be', async () => {
  await place.json('accounts', 'create', 'acme')
  for (const argv of [
    ['create', 'acme'],
    ['create', 'a', '--name', 'b'],
    ['top-up', 'nobody', '1'],
    ['top-up', 'acme', '0'],
    ['top-up', 'acme', 'many'],
    ['top-up', 'acme'],
    ['top-up', 'acme', '5', '--ref', ' '],
    ['top-up', 'acme', '5', '--reason', ''],
    ['refund', 'acme', '5'],
    ['refund', 'acme', '5', '--reason', 'more than there is'],
    ['refund', 'acme', '-5', '--reason', 'x'],
    ['correct', 'acme', '5'],
    ['correct', 'acme', '0', '--reason', 'x'],
    ['disable', 'nobody'],
  ])
    expect((await place.run('accounts', ...argv)).code, argv.join(' ')).toBe(2)
})

test('refused names, amounts and accounts change nothing', async () => {
  await place.json('accounts', 'create', 'acme', '--balance', '5')
  const before = await place.json('accounts', 'list')
  for (const [argv, message] of [
    [['create', 'acme'], 'acme'],
    [['create', 'acc_1'], 'kept for ids'],
    [['create', 'b', '--balance', '-1'], '0 USD or more'],
    [['top-up', 'acme', '0'], 'more than 0 USD'],
    [['top-up', 'acme', '-5'], '`refund` and `correct` take from a balance'],
    [['correct', 'acme', '0', '--reason', 'x'], 'another amount than 0'],
    [['refund', 'acme', '6', '--reason', 'x'], 'a refund cannot take more'],
    [['top-up', 'acme', '99999999'], 'at most 9000000 USD'],
    [['top-up', 'nobody', '1'], 'there is no account nobody'],
    [['enable', 'nobody'], 'there is no account nobody'],
  ] as const) {
    const { code, out, err } = await place.run('accounts', ...argv)
    expect({ argv, code, out }).toEqual({ argv, code: 2, out: '' })
    expect(err).toMatch(/^tollgate: [^\n]+\n$/)
    expect(err).toContain(message)
  }
  expect(await place.json('accounts', 'list')).toEqual(before)
})

test('a list is newest first, a page at a time, and filtered by state and the beginning of a name', async () => {
  for (const name of ['acme', 'Acorn', 'zebra']) await place.json('accounts', 'create', name)
  await place.run('accounts', 'disable', 'Acorn')
  type Listed = { data: Account[]; next_cursor: string | null }
  const listed = async (...argv: string[]) => {
    const { data, next_cursor } = await place.json<Listed>('accounts', 'list', ...argv)
    return { names: data.map(({ name }) => name), cursor: next_cursor }
  }
  expect(await listed()).toEqual({ names: ['zebra', 'Acorn', 'acme'], cursor: null })
  expect((await listed('--name', 'AC')).names).toEqual(['Acorn', 'acme'])
  expect((await listed('--state', 'live')).names).toEqual(['zebra', 'acme'])
  expect((await listed('--state', 'disabled')).names).toEqual(['Acorn'])
  const { names, cursor } = await listed('--limit', '2')
  expect([names, await listed('--limit', '2', '--cursor', cursor ?? '')]).toEqual([['zebra', 'Acorn'], { names: ['acme'], cursor: null }])
})

test('tables and facts are for people: no colour, a line an account', async () => {
  await place.json('keys', 'create')
  const { out } = await place.run('accounts', 'list')
  const [head = '', row = '', ...rest] = out.split('\n')
  expect(head.split(/ {2,}/)).toEqual(['ID', 'NAME', 'BALANCE', 'CREDITED', 'SPENT', 'HELD', 'KEYS', 'STATE'])
  expect(row).toMatch(/ 1 +live$/)
  expect(rest).toEqual([''])
  expect(out).not.toContain('\u001b')
  const { out: facts } = await place.run('accounts', 'create', 'acme', '--balance', '12.50')
  expect(facts).toMatch(/^name +acme\nbalance +\$12\.500000\ncredited +\$12\.500000$/m)
})

test('a budget of an account, and one of a plan over its keys, are shown with what they leave, and taken away', async () => {
  place.write('tollgate.toml', '[plans.default]\nmodels = ["*"]\nbudgets = [{ usd = "5", per = "day" }]\n')
  await place.json('accounts', 'create', 'acme', '--balance', '25')
  expect(await place.json('accounts', 'limit', 'acme', '10', '--per', 'month')).toMatchObject({
    budgets: [
      { plan: null, per: 'month', limit_usd: 10, spent_usd: 0, left_usd: 10 },
      { plan: 'default', per: 'day', limit_usd: 5, left_usd: 5 },
    ],
  })
  expect((await place.run('accounts', 'show', 'acme')).out).toMatch(/per day, keys of default +\$5\.000000 of \$5\.000000 left until/)
  await place.json('keys', 'create', '--name', 'app', '--account', 'acme')
  expect(await place.json('keys', 'limit', 'app', '2', '--per', 'hour')).toMatchObject({
    balance_usd: 2,
    limit_usd: null,
    budgets: [
      { per: 'hour', left_usd: 2 },
      { per: 'month', left_usd: 10 },
      { per: 'day', left_usd: 5 },
    ],
  })
  expect(await place.json('keys', 'limit', 'app', 'none', '--per', 'hour')).toMatchObject({ balance_usd: 5 })
  expect(await place.json('accounts', 'limit', 'acme', 'none', '--per', 'month')).toMatchObject({ budgets: [{ plan: 'default' }] })
  expect((await place.run('accounts', 'limit', 'acme', '1', '--per', 'year')).code).toBe(2)
  expect(await place.json('accounts', 'plan', 'acme', 'default')).toMatchObject({ plan: 'default' })
  expect((await place.run('accounts', 'plan', 'acme', 'gold')).err).toContain('there is no plan "gold"')
})
