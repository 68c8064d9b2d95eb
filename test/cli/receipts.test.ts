/** `tollgate receipts`: every receipt is found by what an index serves, page after page, and one shows how its cost came about. Rules: operator.md "Lists". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { holdTask, openMachine, settleTask, usd } from '../support/ledger.ts'
import { makeRequests, requestId } from './lists.ts'
import { NOW, Workplace } from './run.ts'

type List = { data: { request_id: string }[]; has_more: boolean; next_cursor: string | null }

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  makeRequests(place)
})
afterEach(() => place.remove())

const list = (...argv: string[]) => place.json<List>('receipts', 'list', ...argv)
const numbersOf = ({ data }: List) => data.map(({ request_id }) => Number(request_id.at(-1)))
const minute = (n: number) => new Date(NOW + n * 60_000).toISOString()

test('lists newest first, by key, account, model, outcome, time, over hold and waived', async () => {
  for (const [argv, expected] of [
    [[], [5, 4, 3, 2, 1]],
    [
      ['--key', 'app'],
      [4, 3, 2, 1],
    ],
    [['--account', 'acc_2'], [5]],
    [
      ['--model', 'sample-large'],
      [5, 4, 3, 2, 1],
    ],
    [['--model', 'other'], []],
    [['--outcome', 'fault'], [3]],
    [
      ['--key', 'app', '--outcome', 'complete'],
      [4, 2, 1],
    ],
    [['--over-hold'], [2]],
    [['--waived'], [3]],
    [['--waived', '--key', 'other'], []],
    [
      ['--from', minute(2), '--to', minute(4)],
      [3, 2],
    ],
    [
      ['--from', '2026-11-21', '--to', '2026-11-21'],
      [5, 4, 3, 2, 1],
    ],
    [['--to', '2026-11-20'], []],
    [
      ['--key', 'app', '--from', minute(3)],
      [4, 3],
    ],
  ] as const)
    expect(numbersOf(await list(...argv)), argv.join(' ')).toEqual([...expected])
})

test('lists those whose tokens were estimated', async () => {
  const machine = openMachine(place.ledgerPath)
  machine.ask(holdTask(requestId(6), 'key_1', usd('0.1'), { now: NOW }))
  machine.ask(settleTask(requestId(6), { input: 100, output: 6 }, { now: NOW + 1_000, usageSource: 'estimated', bytesPerToken: 4 }))
  machine.close()
  expect(numbersOf(await list('--estimated'))).toEqual([6])
  expect(numbersOf(await list('--estimated', '--account', 'acc_2'))).toEqual([])
})

test('pages follow each other without a gap', async () => {
  for (const of of [[], ['--key', 'app']]) {
    const seen: number[] = []
    let cursor: string[] = []
    for (;;) {
      const page = await list(...of, '--limit', '2', ...cursor)
      seen.push(...numbersOf(page))
      expect(page.has_more).toBe(page.next_cursor !== null)
      if (page.next_cursor === null) break
      cursor = ['--cursor', page.next_cursor]
    }
    expect(seen).toEqual(of.length === 0 ? [5, 4, 3, 2, 1] : [4, 3, 2, 1])
  }
  expect((await place.run('receipts', 'list', '--limit', '2')).out).toContain(`There is more: --cursor ${requestId(4)}`)
  expect(await place.run('receipts', 'list', '--key', 'app', '--cursor', 'req_x')).toMatchObject({ code: 2, out: '' })
})

test('one shows each count times its rate, the basis, the hold and the ids of the upstream, exactly', async () => {
  const shown = await place.json('receipts', 'show', requestId(4))
  expect(shown).toMatchObject({
    request_id: requestId(4),
    outcome: 'complete',
    basis: 'final',
    cost_usd: 0.00036,
    cost_usd_exact: '0.00036',
    hold_usd_exact: '0.1',
    attempts: 2,
    upstream: 'main',
    upstream_model: 'vendor-large',
    upstream_message_id: 'msg_4',
    upstream_request_id: 'vendor_4',
    other_attempts: [{ attempt: 1, upstream_message_id: 'msg_44', cause: 'overloaded', price_usd_exact: '0.000021' }],
  })
  expect((shown as { lines: object[] }).lines.slice(0, 2)).toEqual([
    { name: 'input', count: 100, rate_usd: 0.000003, rate_usd_exact: '0.000003', price_usd: 0.0003, price_usd_exact: '0.0003' },
    { name: 'output', count: 4, rate_usd: 0.000015, rate_usd_exact: '0.000015', price_usd: 0.00006, price_usd_exact: '0.00006' },
  ])
  const { out } = await place.run('receipts', 'show', requestId(4))
  expect(out).toMatch(/^output +4 +× +\$0\.000015 += {2}\$0\.00006$/m)
  expect(out).toContain('Other upstream calls of this request')
  expect(await place.run('receipts', 'show', 'req_unknown')).toMatchObject({
    code: 2,
    err: expect.stringContaining('no receipt of req_unknown'),
  })
})

test('refuses what cannot be', async () => {
  for (const argv of [
    ['--limit', '0'],
    ['--limit', '1001'],
    ['--from', 'yesterday'],
    ['--to', '2026-13-01'],
    ['--over-hold', '--waived'],
    ['--estimated', '--waived'],
    ['--over-hold', '--estimated'],
    ['--key', 'app', '--account', 'app'],
    ['--outcome', 'x'],
    ['--key', 'nobody'],
  ])
    expect((await place.run('receipts', 'list', ...argv)).code, argv.join(' ')).toBe(2)
})
