/** `tollgate tokens`: what is printed once, what is listed later, and that a revoked token is listed as one. Rules: operator-api.md "Tokens". */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { isToken } from '../../src/core/api-token.ts'
import { Workplace } from './run.ts'

type Token = Record<string, unknown> & { id: string; token: string }

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

test('a token is made and shown once; what stays is a hash and four characters', async () => {
  const made = await place.json<Token>('tokens', 'create', 'shop', '--scope', 'keys', '--reason', 'the shop')
  expect(made).toMatchObject({ name: 'shop', scope: 'keys', account_ids: [], expires_at: '2027-02-19T12:00:00.000Z' })
  expect(isToken(made.token)).toBe(true)
  const { out } = await place.run('tokens', 'create', 'bot', '--scope', 'read', '--expires-in-days', '1')
  expect(out).toMatch(
    /^token +tgop_\w{43}\nid +tok_[0-9a-f]{32}\nname +bot\nscope +read\naccounts +all\nexpires +2026-11-22T12:00:00.000Z\n\nThe token is shown this once/,
  )
  const list = await place.json<{ data: Token[] }>('tokens', 'list')
  expect(list.data).toMatchObject([
    { name: 'bot', state: 'live', last_used_at: null },
    { id: made.id, name: 'shop', display: `tgop_…${made.token.slice(-4)}`, scope: 'keys', state: 'live', revoked_at: null },
  ])
  expect(JSON.stringify(list)).not.toContain(made.token)
  expect((await place.run('tokens', 'list')).out).toMatch(/ID +NAME +TOKEN +SCOPE +ACCOUNTS +STATE +EXPIRES +LAST USED\n.*bot[\s\S]*shop/)
  const audit = await place.json<{ data: Record<string, unknown>[] }>('audit', 'list')
  expect(audit.data[1]).toMatchObject({
    action: 'createToken',
    target: made.id,
    reason: 'the shop',
    after: { name: 'shop', scope: 'keys' },
  })
  expect(JSON.stringify(audit)).not.toContain(made.token.slice(5, 30))
})

test('it is bound to accounts by id or name, and revoked by id or name, once', async () => {
  const { id: north } = await place.json<{ id: string }>('accounts', 'create', 'north')
  const { id: south } = await place.json<{ id: string }>('accounts', 'create', 'south')
  const made = await place.json<Token>('tokens', 'create', 'shop', '--scope', 'all', '--account', 'north', south)
  expect(made['account_ids']).toEqual([north, south])
  expect(await place.json('tokens', 'revoke', 'shop')).toMatchObject({
    id: made.id,
    state: 'revoked',
    revoked_at: '2026-11-21T12:00:00.000Z',
  })
  place.now += 1_000
  expect(await place.json('tokens', 'revoke', made.id)).toMatchObject({ state: 'revoked', revoked_at: '2026-11-21T12:00:00.000Z' })
  expect((await place.run('tokens', 'revoke', made.id)).out).toContain('revoked')
})

test('wrong use is told in words: no scope, an unknown account or token, a name that was given before', async () => {
  await place.json('tokens', 'create', 'shop', '--scope', 'read')
  for (const [argv, err] of [
    [['create', 'other'], /--scope/],
    [['create', 'other', '--scope', 'some'], /read, keys, money, all/],
    [['create', 'other', '--scope', 'read', '--account', 'nowhere'], /there is no account nowhere/],
    [['create', 'other', '--scope', 'read', '--expires-in-days', '367'], /1 to 366/],
    [['create', 'shop', '--scope', 'read'], /exists or existed/],
    [['create', 'tok_1', '--scope', 'read'], /kept for ids/],
    [['revoke', 'nothing'], /there is no token "nothing"/],
    [['list', '--cursor', 'x'], /next_cursor/],
  ] as const) {
    const ran = await place.run('tokens', ...argv)
    expect([argv, ran.code, ran.err]).toEqual([argv, 2, expect.stringMatching(err)])
  }
})
