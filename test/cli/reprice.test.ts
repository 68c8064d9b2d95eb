/** `tollgate reprice`: what past requests would have cost under another file, to the picodollar, and nothing is written. Rules: money.md "What if"; operator.md "Commands". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { makeRequests } from './lists.ts'
import { Workplace } from './run.ts'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  makeRequests(place)
})
afterEach(() => place.remove())

/** The five receipts are of 100 input and n output tokens, at 3 and 15 USD a million; the third was waived. */
const model = (id: string, input: string, output: string): string =>
  `[[models]]\nid = "${id}"\ninput = "${input}"\noutput = "${output}"\ncontext_window = 200000\nmax_output_tokens = 64000\n`
const DEARER = model('sample-large', '4', '15.000001')

const sums = (charged: string, repriced: string, difference: string) => ({
  charged_usd_exact: charged,
  repriced_usd_exact: repriced,
  difference_usd_exact: difference,
})

test('models and accounts have what was charged, what would have been, and the difference, exactly', async () => {
  place.write('dearer.toml', DEARER)
  const told = await place.json('reprice', '--models', 'dearer.toml')
  const waived = { receipts: 1, waived_usd_exact: '0.000345', repriced_usd_exact: '0.000445000003', difference_usd_exact: '0.000100000003' }
  const all = {
    receipts: 4,
    ...sums('0.00138', '0.001780000012', '0.000400000012'),
    waived,
    missing: { receipts: 0, charged_usd_exact: '0' },
  }
  expect(told).toMatchObject({
    from: null,
    to: null,
    total: { ...all, charged_usd: 0.00138, difference_usd: 0.0004 },
    models: [{ model: 'sample-large', is_missing: false, ...all }],
    accounts: [
      { account_id: 'acc_1', receipts: 3, ...sums('0.001005', '0.001305000007', '0.000300000007'), waived },
      { account_id: 'acc_2', receipts: 1, ...sums('0.000375', '0.000475000005', '0.000100000005'), waived: { receipts: 0 } },
    ],
  })
  const { code, out } = await place.run('reprice', '--models', 'dearer.toml')
  expect(code).toBe(0)
  expect(out).toMatch(/^MODEL +RECEIPTS +CHARGED +REPRICED +DIFFERENCE$/m)
  expect(out).toMatch(/^sample-large +4 +\$0\.00138 +\$0\.001780000012 +\$0\.000400000012$/m)
  expect(out).toMatch(/^total +4 +\$0\.00138 /m)
  expect(out).toMatch(/^acc_2 +other +1 +\$0\.000375 +\$0\.000475000005 +\$0\.000100000005$/m)
  expect(out).toMatch(/^waived +1 receipt of \$0\.000345, repriced \$0\.000445000003$/m)
  expect(await place.json('verify')).toEqual({ ok: true, data: [] })
})

test('the range and the account choose receipts; cheaper is below 0', async () => {
  place.write(
    'cheaper.toml',
    `${model('sample-large', '1', '15')}[[models.levels]]\nabove_prompt_tokens = 100\ninput = "99"\noutput = "99"\n`,
  )
  const total = async (...argv: string[]) => {
    const { total: told } = await place.json<{ total: { receipts: number; difference_usd_exact: string } }>(
      'reprice',
      '--models',
      'cheaper.toml',
      ...argv,
    )
    return [told.receipts, told.difference_usd_exact]
  }
  expect(await total()).toEqual([4, '-0.0008'])
  expect(await total('--account', 'acc_2')).toEqual([1, '-0.0002'])
  expect(await total('--from', '2026-11-21T12:02:00Z')).toEqual([3, '-0.0006'])
  expect(await total('--to', '2026-11-21T12:02:00Z')).toEqual([1, '-0.0002'])
  expect(await total('--from', '2026-11-21', '--to', '2026-11-21')).toEqual([4, '-0.0008'])
  expect(await total('--from', '2026-11-22')).toEqual([0, '0'])
  expect(await place.run('reprice', '--models', 'cheaper.toml', '--to', '2026-11-20')).toMatchObject({
    code: 0,
    out: 'There are no receipts.\n',
  })
})

test('receipts of a model that the file does not have are said with count and sum, and are in no difference', async () => {
  place.write('other.toml', model('another', '9', '9'))
  expect(await place.json('reprice', '--models', 'other.toml')).toMatchObject({
    total: { receipts: 0, ...sums('0', '0', '0'), waived: { receipts: 0 }, missing: { receipts: 5, charged_usd_exact: '0.00138' } },
    models: [{ model: 'sample-large', is_missing: true, missing: { receipts: 5 } }],
  })
  const { out } = await place.run('reprice', '--models', 'other.toml')
  expect(out).toMatch(/^not in the file +5 receipts, charged \$0\.00138$/m)
  expect(out).toMatch(/^ {2}sample-large +5 receipts, charged \$0\.00138$/m)
})

test('wrong use is 2 and names what is wrong; without a ledger it is 3', async () => {
  place.write('dearer.toml', DEARER)
  place.write('wrong.toml', DEARER.replace('"4"', '"4.0000001"'))
  for (const [argv, message] of [
    [[], '--models'],
    [['--models', 'none.toml'], 'none.toml has mistakes: there is no such file'],
    [['--models', 'wrong.toml'], 'models[0].input: expected a whole number of picodollars'],
    [['--models', 'dearer.toml', '--from', 'today'], 'Expected a day or a time'],
    [['--models', 'dearer.toml', '--account', 'nobody'], 'nobody'],
  ] as const) {
    const { code, err, out } = await place.run('reprice', ...argv)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  }
  const empty = new Workplace()
  try {
    empty.write('dearer.toml', DEARER)
    expect(await empty.run('reprice', '--models', 'dearer.toml')).toMatchObject({ code: 3 })
  } finally {
    empty.remove()
  }
})
