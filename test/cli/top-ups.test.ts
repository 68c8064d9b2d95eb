/** `tollgate top-ups list`: who put which money where, and why. Rules: operator.md "Credits", "Lists". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { NOW, Workplace } from './run.ts'

type List = { data: Record<string, unknown>[]; next_cursor: string | null }

let place: Workplace
beforeEach(async () => {
  place = new Workplace()
  await place.json('accounts', 'create', 'acme', '--balance', '5', '--ref', 'inv-1')
  place.now = NOW + 1_000
  await place.json('accounts', 'refund', 'acme', '0.5', '--reason', 'paid twice')
  place.now = NOW + 2_000
  await place.json('keys', 'create', '--name', 'app', '--balance', '2')
})
afterEach(() => place.remove())

test('top-ups are listed with kind, exact amount, reference, actor and reason', async () => {
  const list = (...argv: string[]) => place.json<List>('top-ups', 'list', ...argv)
  const amounts = async (...argv: string[]) => (await list(...argv)).data.map((row) => row['amount_usd_exact'])
  expect((await list('--account', 'acme')).data).toMatchObject([
    {
      kind: 'refund',
      amount_usd: -0.5,
      amount_usd_exact: '-0.5',
      ref: '',
      reason: 'paid twice',
      account_name: 'acme',
      created_at: '2026-11-21T12:00:01.000Z',
    },
    { kind: 'top-up', amount_usd: 5, ref: 'inv-1', actor: expect.stringMatching(/^os:./) },
  ])
  expect(await amounts()).toEqual(['2', '-0.5', '5'])
  expect(await amounts('--ref', 'inv-1')).toEqual(['5'])
  expect(await amounts('--from', '2026-11-21T12:00:01Z')).toEqual(['2', '-0.5'])
  expect(await amounts('--to', '2026-11-21T12:00:01Z')).toEqual(['5'])
  const first = await list('--limit', '2')
  expect(await amounts('--limit', '2', '--cursor', first.next_cursor ?? '')).toEqual(['5'])
  expect((await place.run('top-ups', 'list')).out).toMatch(/ acme +refund +-\$0\.500000 +os:.* paid twice$/m)
})
