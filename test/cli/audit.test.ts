/** `tollgate audit list`: who did what, from where and why. Rules: operator.md "Audit", "Lists". */

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

test('the audit log says who did what, from where and why, with before and after', async () => {
  const list = (...argv: string[]) => place.json<List>('audit', 'list', ...argv)
  const actions = async (...argv: string[]) => (await list(...argv)).data.map(({ action }) => action)
  const { id } = await place.json<{ id: string }>('keys', 'limit', 'app', '1', '--reason', 'too fast')
  expect(await actions()).toEqual(['setKeyLimit', 'credit', 'createKey', 'createAccount', 'credit', 'credit', 'createAccount'])
  expect((await list('--key', 'app')).data).toMatchObject([
    {
      action: 'setKeyLimit',
      target: id,
      actor: expect.stringMatching(/^os:./),
      address: 'file',
      reason: 'too fast',
      before: { limitUsd: null },
      after: { limitUsd: '1' },
    },
    { action: 'createKey' },
  ])
  expect(await actions('--account', 'acme')).toEqual(['credit', 'credit', 'createAccount'])
  expect(await actions('--from', '2026-11-21T12:00:01Z', '--to', '2026-11-21T12:00:02Z')).toEqual(['credit'])
  const first = await list('--limit', '3')
  expect(await actions('--limit', '4', '--cursor', first.next_cursor ?? '')).toEqual(['createAccount', 'credit', 'credit', 'createAccount'])
  expect((await place.run('audit', 'list')).out).toMatch(/ file +setKeyLimit +key_.* too fast$/m)
  expect((await place.run('audit', 'list', '--key', 'app', '--account', 'acme')).code).toBe(2)
})
