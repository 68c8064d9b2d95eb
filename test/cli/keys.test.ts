/**
 * `tollgate keys`: what they make, what they print, and what they refuse. Rules: keys.md "Expiry and rotation"; operator.md "Keys and accounts".
 */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { isSecret } from '../../src/core/key.ts'
import { NOW, Workplace } from './run.ts'

type Key = { id: string; key: string; name: string; account_id: string; balance_usd: number; expires_at: string | null } & Record<
  string,
  unknown
>
type Account = { id: string; name: string; balance_usd: number; is_active: boolean }

const DAY_MS = 86_400_000

let place: Workplace
beforeEach(() => {
  place = new Workplace()
})
afterEach(() => place.remove())

describe('keys create', () => {
  test('makes the ledger, an account of its own and a funded key, and prints one document', async () => {
    const made = await place.json<Key>('keys', 'create', '--name', 'app', '--balance', '25', '--limit', '10.5', '--expires-in-days', '30')
    expect(Object.keys(made).slice(0, 6)).toEqual(['id', 'key', 'name', 'account_id', 'balance_usd', 'expires_at'])
    expect(isSecret(made.key)).toBeTrue()
    expect(made).toMatchObject({
      name: 'app',
      plan: 'default',
      balance_usd: 10.5,
      limit_usd: 10.5,
      spent_usd: 0,
      display: `sk-…${made.key.slice(-4)}`,
      expires_at: new Date(NOW + 30 * DAY_MS).toISOString(),
      created_at: '2026-11-21T12:00:00.000Z',
      last_synced_at: '2026-11-21T12:00:00.000Z',
      is_active: true,
      state: 'live',
    })
    const { data } = await place.json<{ data: Account[] }>('accounts', 'list')
    expect(data).toMatchObject([{ id: made.account_id, balance_usd: 25 }])
  })

  test('without options the key has no name, no limit, no expiry and no money', async () => {
    const made = await place.json<Key>('keys', 'create')
    expect(made).toMatchObject({ name: '', balance_usd: 0, limit_usd: null, expires_at: null, plan: 'default' })
  })

  test('--limit none is no limit', async () => {
    expect(await place.json<Key>('keys', 'create', '--limit', 'none')).toMatchObject({ limit_usd: null, state: 'live' })
  })

  test('the secret is printed once and stored nowhere', async () => {
    const made = await place.json<Key>('keys', 'create', '--name', 'app')
    for (const argv of [
      ['keys', 'list'],
      ['keys', 'show', 'app'],
      ['keys', 'list', '--json'],
      ['keys', 'limit', 'app', '5', '--json'],
    ])
      expect((await place.run(...argv)).out).not.toContain(made.key.slice(3, -4))
    for (const suffix of ['', '-wal']) {
      const file = `${place.ledgerPath}${suffix}`
      if (existsSync(file)) expect(readFileSync(file).includes(made.key.slice(3, -4))).toBeFalse()
    }
  })

  test('several keys share an account, named by its id or name, and --balance tops it up', async () => {
    const account = await place.json<Account>('accounts', 'create', 'acme', '--balance', '5')
    const one = await place.json<Key>('keys', 'create', '--account', 'acme', '--balance', '2')
    const two = await place.json<Key>('keys', 'create', '--account', account.id)
    expect([one.account_id, two.account_id]).toEqual([account.id, account.id])
    expect([one.balance_usd, two.balance_usd]).toEqual([7, 7])
  })

  test('a reference of the balance is credited once; a key is never made a second time under it', async () => {
    await place.json('accounts', 'create', 'acme')
    const make = ['keys', 'create', '--account', 'acme', '--balance', '5', '--ref', 'inv']
    expect(await place.json<Key>(...make)).toMatchObject({ balance_usd: 5, balance_usd_exact: '5' })
    expect(await place.run(...make)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('make the key without a balance') })
    expect(await place.run('keys', 'create', '--ref', 'inv2')).toMatchObject({ code: 2, err: expect.stringContaining('--balance') })
    expect((await place.json<{ data: unknown[] }>('keys', 'list')).data).toHaveLength(1)
    expect((await place.json<{ data: unknown[] }>('accounts', 'list')).data).toMatchObject([{ balance_usd: 5, keys: 1 }])
  })

  test('refuses an account, plan or name that cannot be, and makes nothing', async () => {
    await place.json('keys', 'create', '--name', 'app')
    for (const [argv, message] of [
      [['--account', 'nobody'], 'there is no account nobody'],
      [['--plan', 'gold'], 'there is no plan "gold"; the configuration has default'],
      [['--name', 'app'], 'app'],
      [['--name', 'key_1'], 'kept for ids'],
      [['--balance', 'x'], 'Expected dollars'],
      [['--balance', '-1'], '0 USD or more'],
      [['--balance', '99999999'], 'at most 9000000 USD'],
      [['--expires-in-days', '0'], 'from 1 to 90'],
      [['--expires-in-days', '91'], 'from 1 to 90'],
      [['--expires-in-days', '1.5'], 'from 1 to 90'],
    ] as const) {
      const { code, out, err } = await place.run('keys', 'create', ...argv)
      expect(code, argv.join(' ')).toBe(2)
      expect(out).toBe('')
      expect(err).toContain(message)
      expect(err.trimEnd().split('\n'), err).toHaveLength(1)
    }
    expect((await place.json<{ data: unknown[] }>('keys', 'list')).data).toHaveLength(1)
  })
})

describe('keys', () => {
  test('limit, disable, enable and extend change the key and show it', async () => {
    const { id } = await place.json<Key>('keys', 'create', '--name', 'app', '--balance', '25', '--expires-in-days', '10')
    expect(await place.json('keys', 'limit', 'app', '3')).toMatchObject({ limit_usd: 3, balance_usd: 3 })
    expect(await place.json('keys', 'limit', id, 'none')).toMatchObject({ limit_usd: null, balance_usd: 25 })
    expect(await place.json('keys', 'disable', 'app')).toMatchObject({ is_active: false, state: 'disabled' })
    expect(await place.json('keys', 'enable', 'app')).toMatchObject({ is_active: true, state: 'live' })
    expect(await place.json('keys', 'extend', 'app', '--days', '80')).toMatchObject({
      expires_at: new Date(NOW + 90 * DAY_MS).toISOString(),
    })
  })

  test('rates sets what is named, takes away what is none, and refuses what would have no effect', async () => {
    await place.json<Key>('keys', 'create', '--name', 'app')
    const none = { requests_per_minute: null, input_tokens_per_minute: null, output_tokens_per_minute: null, concurrent_requests: null }
    expect(await place.json('keys', 'rates', 'app', '--requests-per-minute', '60', '--output-tokens-per-minute', '9000')).toMatchObject({
      rates: { ...none, requests_per_minute: 60, output_tokens_per_minute: 9_000 },
    })
    expect(await place.json('keys', 'rates', 'app', '--requests-per-minute', 'none', '--concurrent-requests', '4')).toMatchObject({
      rates: { ...none, output_tokens_per_minute: 9_000, concurrent_requests: 4 },
    })
    expect((await place.run('keys', 'show', 'app')).out).toMatch(/rates +9000 output tokens a minute, 4 requests at once\n/)
    expect(await place.json('keys', 'rates', 'app', '--output-tokens-per-minute', 'none', '--concurrent-requests', 'none')).toMatchObject({
      rates: null,
    })
    expect(await place.run('keys', 'rates', 'app')).toMatchObject({ code: 2, err: expect.stringContaining('name at least one rate') })
    expect(await place.run('keys', 'rates', 'app', '--requests-per-minute', '601')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--requests-per-minute: at most 600'),
    })
    expect((await place.run('keys', 'rates', 'app', '--input-tokens-per-minute', '0')).code).toBe(2)
  })

  test('rename gives another name that no other key of the account has, and the old one is free', async () => {
    const made = await place.json<Key>('keys', 'create', '--name', 'app')
    await place.json('keys', 'create', '--name', 'other', '--account', 'app')
    expect(await place.json('keys', 'rename', 'app', 'web')).toMatchObject({ id: made.id, name: 'web' })
    expect((await place.run('keys', 'rename', 'web', 'other')).err).toContain('a key named "other" is on the account')
    expect(await place.run('keys', 'rename', 'web', 'key_1')).toMatchObject({ code: 2, out: '' })
    expect((await place.run('keys', 'show', 'app')).code).toBe(2)
    expect(await place.json('keys', 'rename', 'other', 'app')).toMatchObject({ name: 'app' })
  })

  test('an expiry is never more than 90 days ahead; an expired key is extended from now', async () => {
    await place.json('keys', 'create', '--name', 'app', '--expires-in-days', '60')
    const refused = await place.run('keys', 'extend', 'app', '--days', '31')
    expect(refused).toEqual({ code: 2, out: '', err: 'tollgate: a key may expire at most 90 days ahead: this one can have 30 days more\n' })
    place.now = NOW + 61 * DAY_MS
    expect(await place.json('keys', 'show', 'app')).toMatchObject({ state: 'expired' })
    expect(await place.json('keys', 'extend', 'app', '--days', '90')).toMatchObject({
      state: 'live',
      expires_at: new Date(place.now + 90 * DAY_MS).toISOString(),
    })
  })

  test('a key without an expiry gets one, counted from now', async () => {
    for (const days of [1, 90]) {
      expect(await place.json('keys', 'create', '--name', `eternal-${days}`)).toMatchObject({ expires_at: null })
      expect(await place.json('keys', 'extend', `eternal-${days}`, '--days', String(days))).toMatchObject({
        state: 'live',
        expires_at: new Date(NOW + days * DAY_MS).toISOString(),
      })
    }
    expect(await place.run('keys', 'extend', 'eternal-1', '--days', '91')).toMatchObject({ code: 2, out: '' })
    place.now = NOW + 1 * DAY_MS
    expect(await place.json('keys', 'show', 'eternal-1')).toMatchObject({ state: 'expired' })
  })

  test('rotate gives a new secret, and says until when the old one is valid', async () => {
    const made = await place.json<Key>('keys', 'create', '--name', 'app')
    const rotated = await place.json<Key>('keys', 'rotate', 'app', '--overlap-hours', '24')
    expect(rotated).toMatchObject({
      id: made.id,
      old_key_valid_until: new Date(NOW + DAY_MS).toISOString(),
      display: `sk-…${rotated.key.slice(-4)}`,
    })
    expect(isSecret(rotated.key)).toBeTrue()
    expect(rotated.key).not.toBe(made.key)
    const early = await place.run('keys', 'rotate', 'app')
    const promised = `tollgate: an earlier rotation promised the old secret ${made['display']} until ${new Date(NOW + DAY_MS).toISOString()}`
    expect(early).toEqual({ code: 2, out: '', err: `${promised}, and would end earlier: add --now to end it all the same\n` })
    expect(await place.json('keys', 'rotate', 'app', '--now')).toMatchObject({ old_key_valid_until: new Date(NOW).toISOString() })
    expect(await place.json('keys', 'rotate', 'app')).toMatchObject({ old_key_valid_until: new Date(NOW).toISOString() })
  })

  test('a key that is not there is wrong use', async () => {
    await place.json('keys', 'create', '--name', 'app')
    for (const argv of [
      ['show', 'x'],
      ['limit', 'x', '1'],
      ['extend', 'x', '--days', '1'],
      ['disable', 'x'],
      ['enable', 'x'],
      ['rotate', 'x'],
    ])
      expect(await place.run('keys', ...argv)).toEqual({ code: 2, out: '', err: 'tollgate: there is no key x\n' })
  })

  test('a list is newest first, a page at a time, and filtered by account, state and the beginning of a name', async () => {
    for (const name of ['app-1', 'App-2', 'other']) await place.json('keys', 'create', '--name', name, '--expires-in-days', '1')
    await place.json('accounts', 'create', 'acme')
    for (const name of ['app-3', 'app-4']) await place.json('keys', 'create', '--name', name, '--account', 'acme')
    await place.run('keys', 'disable', 'app-4')
    place.now = NOW + DAY_MS
    type Listed = { data: { name: string }[]; has_more: boolean; next_cursor: string | null }
    const listed = async (...argv: string[]) => {
      const { data, has_more, next_cursor } = await place.json<Listed>('keys', 'list', ...argv)
      expect(has_more).toBe(next_cursor !== null)
      return { names: data.map(({ name }) => name), cursor: next_cursor }
    }
    expect(await listed()).toEqual({ names: ['app-4', 'app-3', 'other', 'App-2', 'app-1'], cursor: null })
    expect((await listed('--account', 'acme')).names).toEqual(['app-4', 'app-3'])
    expect((await listed('--name', 'APP')).names).toEqual(['app-4', 'app-3', 'App-2', 'app-1'])
    expect((await listed('--state', 'live')).names).toEqual(['app-3'])
    expect((await listed('--state', 'disabled')).names).toEqual(['app-4'])
    expect((await listed('--state', 'expired')).names).toEqual(['other', 'App-2', 'app-1'])
    const first = await listed('--name', 'app', '--limit', '2')
    const second = await listed('--name', 'app', '--limit', '2', '--cursor', first.cursor ?? '')
    expect([first.names, second]).toEqual([['app-4', 'app-3'], { names: ['App-2', 'app-1'], cursor: null }])
    expect((await place.run('keys', 'list', '--name', 'nobody')).out).toBe('No key was found.\n')
    expect((await place.run('accounts', 'list', '--name', 'nobody')).out).toBe('No account was found.\n')
    expect(await place.run('keys', 'list', '--account', 'nobody')).toMatchObject({ code: 2 })
    expect(await place.run('keys', 'list', '--state', 'gone')).toMatchObject({ code: 2 })
  })

  test('tables are for people: no colour, a line a key', async () => {
    await place.json('keys', 'create', '--name', 'app', '--balance', '25')
    const { out } = await place.run('keys', 'list')
    const [head = '', row = '', ...rest] = out.split('\n')
    expect(head.split(/ {2,}/)).toEqual(['ID', 'NAME', 'KEY', 'ACCOUNT', 'PLAN', 'BALANCE', 'SPENT', 'LIMIT', 'EXPIRES', 'STATE'])
    expect(row).toContain('$25.000000')
    expect(rest).toEqual([''])
    expect(out).not.toContain('\u001b')
    expect((await place.run('keys', 'show', 'app')).out).toMatch(/^balance +\$25\.000000$/m)
  })
})
