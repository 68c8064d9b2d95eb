/** `tollgate import` of one-api and new-api: keys come as they are, with and without `sk-`; what this ledger cannot say stays there, and is told; `--check` adds up. Rules: operator.md "Import"; keys.md "Imported keys". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { CONFIG, type Document } from './import/look.ts'
import { keyOf, token, user, writeRows } from './import/one-api.ts'
import { NOW, Workplace } from './run.ts'

type System = 'one-api' | 'new-api'

let place: Workplace
beforeEach(() => {
  place = new Workplace()
  place.write('tollgate.toml', CONFIG)
})
afterEach(() => place.remove())

const SECOND = Math.floor(NOW / 1_000)
const DAY = 86_400

const write = (system: System, rows: Parameters<typeof writeRows>[2]): void => writeRows(join(place.folder, 'theirs.db'), system, rows)

const look = (system: System, ...more: string[]) => place.json<Document>('import', system, '--from', 'theirs.db', ...more)
const apply = (system: System, ...more: string[]) => look(system, '--apply', '--source-stopped', ...more)

test('the user is the account, and what is left of a token its limit; an unlimited token has none', async () => {
  write('one-api', {
    users: [user(1, { quota: 1_234_567 }), user(2, { quota: -5 })],
    tokens: [
      token(1, { remain_quota: 250_001 }),
      token(2, { unlimited_quota: 1, models: 'small' }),
      token(3, { user_id: 2, expired_time: SECOND + DAY, status: 2 }),
    ],
  })
  const { accounts, findings } = await look('one-api')
  expect(accounts).toMatchObject([
    { source: 'user:1', name: 'user1', credit_usd_exact: '2.469134' },
    { source: 'user:2', name: 'user2', credit_usd_exact: '0' },
  ])
  expect(
    accounts
      .flatMap(({ keys }) => keys)
      .map((key) => [key['source'], key['plan'], key['limit_usd_exact'], key['expires_at'], key['is_active']]),
  ).toEqual([
    ['token:1', 'default', '0.500002', null, true],
    ['token:2', 'cheap', null, null, true],
    ['token:3', 'default', '1', new Date((SECOND + DAY) * 1_000).toISOString(), false],
  ])
  expect(findings.map(({ subject, what }) => `${subject}: ${what}`)).toEqual([
    'token 3 (token3): the quota of its user is overspent: it comes as 0',
    'token 3 (token3): it or its user is disabled there, and it comes disabled',
  ])
  await apply('one-api')
  const db = new Database(place.ledgerPath, { readonly: true })
  const hashes = db
    .query('SELECT lower(hex(hash)) FROM key_secrets JOIN imported_keys USING (key_number) WHERE source_key = ?')
    .values('token:1')
    .flat()
  db.close()
  const texts = [keyOf(1), `sk-${keyOf(1)}`].map((text) => createHash('sha256').update(text).digest('hex'))
  expect(hashes.sort()).toEqual(texts.sort())
})

test('what another unit is worth is computed exactly, and rounded down', async () => {
  write('one-api', {
    users: [user(1, { quota: 10 })],
    tokens: [token(1, { remain_quota: 1 })],
    options: [{ key: 'QuotaPerUnit', value: '3' }],
  })
  const { accounts, findings } = await look('one-api')
  expect(accounts).toMatchObject([{ credit_usd_exact: '3.333333333333', keys: [{ limit_usd_exact: '0.333333333333' }] }])
  expect(findings.map(({ what }) => what)).toEqual([
    'the quota of its user is rounded down: 1/3 of a picodollar is left out',
    'its quota is rounded down: 1/3 of a picodollar is left out',
  ])
})

test('what cannot be said here stays there, a line each', async () => {
  write('one-api', {
    users: [user(1), user(2, { group: 'vip' }), user(3, { quota: 500_000_000_000_000 })],
    tokens: [
      token(1, { subnet: '10.0.0.0/8' }),
      token(2, { user_id: 2 }),
      token(3, { user_id: 3 }),
      token(4, { models: 'medium,small' }),
      token(5, { key: 'tooShort' }),
      token(6, { key: 'seventeenLetters1' }),
      token(7, { user_id: 9 }),
      token(8, { key: `${keyOf(8).slice(0, 40)}-1234` }),
    ],
    options: [{ key: 'GroupRatio', value: '{"default":1,"vip":0.5}' }],
  })
  const { accounts, findings } = await look('one-api')
  expect(accounts).toEqual([])
  expect(findings.map(({ subject, what }) => `${subject.split(' ')[1]}: ${what}`)).toEqual([
    '1: it is bound to addresses (10.0.0.0/8), and no key here is',
    '2: its group vip pays 0.5 times the price: no price here depends on a group',
    '3: its quota is more than an account can hold here',
    '4: no plan here has exactly its models: medium, small',
    '5: its secret has 8 characters: 16 to 125 can be a key here',
    '6: its secret has only 17 characters, and may be guessed: --accept-weak brings it',
    '7: there is no user 9',
    '8: its key has a "-", and never worked there: what follows one names a channel',
  ])
  expect((await look('one-api', '--accept-weak')).accounts.flatMap(({ keys }) => keys.map((key) => key['source']))).toEqual(['token:6'])
})

test('new-api: a token’s own group and its switched limits count, and what was deleted does not come', async () => {
  write('new-api', {
    users: [user(1), user(2, { deleted_at: '2026-01-01 00:00:00' })],
    tokens: [
      token(1, { model_limits_enabled: 1, model_limits: 'small', group: 'default' }),
      token(2, { model_limits_enabled: 0, model_limits: 'small', key: 'k'.repeat(120) }),
      token(3, { deleted_at: '2026-01-01 00:00:00' }),
      token(4, { user_id: 2 }),
      token(5, { allow_ips: '10.0.0.1\n10.0.0.2' }),
      token(6, { group: 'dear' }),
      token(7, { key: 'k'.repeat(126) }),
    ],
    options: [{ key: 'GroupRatio', value: '{"dear":2}' }],
  })
  const { accounts, findings } = await look('new-api')
  expect(accounts.flatMap(({ keys }) => keys).map((key) => [key['source'], key['plan']])).toEqual([
    ['token:1', 'cheap'],
    ['token:2', 'default'],
  ])
  expect(findings.map(({ what }) => what)).toEqual([
    'there is no user 2',
    'it is bound to addresses (10.0.0.1, 10.0.0.2), and no key here is',
    'its group dear pays 2 times the price: no price here depends on a group',
    'its secret has 126 characters: 16 to 125 can be a key here',
  ])
})

test.each(['one-api', 'new-api'] as const)('codes of %s that are not redeemed do not come, and are counted in a line', async (system) => {
  const code = (id: number, more = {}) => ({ id, key: `code${id}`, ...more })
  const deleted = system === 'new-api' ? [code(5, { deleted_at: '2026-01-01 00:00:00' })] : []
  const redeemed = [code(3, { status: 3 }), code(4, { status: 2 })]
  write(system, { users: [user(1)], tokens: [token(1)], redemptions: [...redeemed, ...deleted] })
  expect((await look(system)).findings).toEqual([])
  write(system, { redemptions: [code(1), code(2)] })
  expect((await look(system)).findings).toEqual([
    { subject: 'redemption codes', brought: false, what: '2 are not redeemed there: make new ones by `tollgate codes create`' },
  ])
})

test('another database under the same ids is refused whole', async () => {
  write('one-api', { users: [user(1)], tokens: [token(1)] })
  await apply('one-api')
  const db = new Database(join(place.folder, 'theirs.db'))
  db.query('UPDATE tokens SET key = ?').run(keyOf(77))
  db.close()
  const { code, err } = await place.run('import', 'one-api', '--from', 'theirs.db')
  expect([code, err]).toEqual([2, expect.stringContaining('token:1 came before with another secret: this is another database')])
})

test('names that are taken get what names their owner there', async () => {
  await place.json('accounts', 'create', 'user1')
  write('one-api', { users: [user(1)], tokens: [token(1, { name: 'same' }), token(2, { name: 'same' }), token(3, { name: 'key_1' })] })
  await apply('one-api')
  const { data } = await place.json<{ data: { name: string }[] }>('accounts', 'list')
  expect(data.map(({ name }) => name).sort()).toEqual(['user1', 'user1 (one-api user:1)'])
  const keys = await place.json<{ data: { name: string }[] }>('keys', 'list')
  expect(keys.data.map(({ name }) => name).sort()).toEqual(['', 'same', 'same (one-api token:2)'])
})

test('--check: what they had, what came and was spent here, and what is left add up; an amount that does not is a finding', async () => {
  write('one-api', { users: [user(1)], tokens: [token(1)] })
  expect((await place.run('import', '--check')).err).toContain('there is no ledger')
  await apply('one-api')
  await place.json('accounts', 'top-up', 'user1', '4')
  const clean = await place.json('import', '--check')
  expect(clean).toMatchObject({
    ok: true,
    accounts: [
      { name: 'user1', source: 'one-api:user:1', then_usd: 2, credited_since_usd: 4, spent_here_usd: 0, balance_usd: 6, difference_usd: 0 },
    ],
    keys: [{ source: 'token:1', limit_then_usd: 1, limit_usd: 1, spent_here_usd: 0, left_usd: 1, difference_usd: 0 }],
  })
  expect((await place.run('import', '--check')).out).toContain('All of it adds up.')
  const db = new Database(place.ledgerPath)
  db.run('UPDATE accounts SET spent_picos = 1000000, balance_picos = balance_picos - 1000000')
  db.run('UPDATE keys SET spent_picos = 1000000')
  db.close()
  const { code, out } = await place.run('import', '--check', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    { ok: false, accounts: [{ difference_usd_exact: '0.000001' }], keys: [{ difference_usd_exact: '-0.000001' }] },
  ])
})
