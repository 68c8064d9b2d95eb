/** Keys of LiteLLM come as they are, with the money that their budgets leave; what this ledger cannot say stays there, and is told. Rules: operator.md "Import". */

import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { isPostgresRunning, postgresTest } from '../../support/postgres.ts'
import { NOW, Workplace } from '../run.ts'
import { keyRow, type LiteLlm, makeLiteLlm, tokenOf } from './litellm.ts'
import { CONFIG, type Document } from './look.ts'

const DAY_MS = 86_400_000
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
const apply = (...more: string[]) => look('--apply', '--source-stopped', ...more)

postgresTest('a user with a budget is the account, and the budgets of its keys are limits', async () => {
  await theirs.insert('LiteLLM_UserTable', { user_id: 'u1', user_alias: 'Alice', max_budget: 25, spend: 0.3, models: [] })
  await theirs.insert(
    'LiteLLM_VerificationToken',
    keyRow('sk-aaaaaaaaaaaaaaaaaaaaaa', { user_id: 'u1', key_alias: 'laptop', max_budget: 10, spend: 0.1 }),
    keyRow('sk-bbbbbbbbbbbbbbbbbbbbbb', { user_id: 'u1', key_alias: 'server', models: ['small'], allowed_routes: ['llm_api_routes'] }),
  )
  const seen = await look()
  expect(seen).toMatchObject({ applied: false, already_here: 0, findings: [] })
  expect(seen.accounts).toMatchObject([{ source: 'user:u1', name: 'Alice', credit_usd_exact: '24.7' }])
  expect(seen.accounts[0]?.keys.map(({ name, plan, limit_usd_exact }) => [name, plan, limit_usd_exact]).sort()).toEqual([
    ['laptop', 'default', '9.9'],
    ['server', 'cheap', null],
  ])
  expect((await place.run('keys', 'list')).err).toContain('there is no ledger')
  await apply()
  const { data } = await place.json<{ data: Record<string, unknown>[] }>('keys', 'list')
  expect(data.map(({ name, balance_usd }) => [name, balance_usd]).sort()).toEqual([
    ['laptop', 9.9],
    ['server', 24.7],
  ])
})

const SECRETS = Array.from({ length: 20 }, (_, n) => `sk-secret_of_number-${String(n).padStart(2, '0')}`)
const [FIRST = '', SECOND = '', THIRD = ''] = SECRETS
const iso = (ms: number): string => new Date(ms).toISOString().replace('Z', '')

postgresTest(
  'the team is the account where the user has no budget, and the key where neither has; windows and long ends are cut, and told',
  async () => {
    await theirs.insert('LiteLLM_UserTable', { user_id: 'u1', spend: 0, models: [] })
    await theirs.insert('LiteLLM_TeamTable', {
      team_id: 't1',
      team_alias: 'Ops',
      admins: [],
      members: [],
      models: ['small'],
      max_budget: 5,
      spend: 6,
    })
    await theirs.insert('LiteLLM_BudgetTable', {
      budget_id: 'b1',
      max_budget: 0.1,
      budget_duration: '30d',
      created_by: 'x',
      updated_by: 'x',
    })
    await theirs.insert(
      'LiteLLM_VerificationToken',
      keyRow(FIRST, { user_id: 'u1', team_id: 't1', blocked: true, rpm_limit: 5 }),
      keyRow(SECOND, {
        user_id: 'u1',
        budget_id: 'b1',
        max_budget: 7,
        spend: 0.0333333333333333,
        expires: iso(NOW + 200 * DAY_MS),
        key_alias: 'mine',
      }),
      keyRow(THIRD, { max_budget: 1, expires: iso(NOW + DAY_MS), aliases: { a: 'b' } }),
    )
    const { accounts, findings } = await look()
    expect(
      Object.fromEntries(
        accounts.map(({ source, name, credit_usd_exact, keys: [key] }) => [
          source,
          [name, credit_usd_exact, key?.['limit_usd_exact'], key?.['plan'], key?.['expires_at'], key?.['is_active']],
        ]),
      ),
    ).toEqual({
      'team:t1': ['Ops', '0', null, 'cheap', null, false],
      [`key:${tokenOf(SECOND)}`]: ['mine', '0.066666666666', null, 'default', new Date(NOW + 90 * DAY_MS).toISOString(), true],
      [`key:${tokenOf(THIRD)}`]: ['', '1', null, 'default', new Date(NOW + DAY_MS).toISOString(), true],
    })
    expect(findings.map(({ subject, brought, what }) => `${subject}: ${brought ? 'comes' : 'stays'}: ${what}`).sort()).toEqual([
      `key mine: comes: it ends later than 90 days from now: here it ends after 90, and can be extended`,
      `key mine: comes: its budget is full again every 30d there: what is left of it now comes, once; \`--per\` sets one here`,
      `key mine: comes: its budget is rounded down: 0.0000000000006667 USD is left out`,
      `key sk-...r-00: comes: it is blocked there, and comes disabled`,
      `key sk-...r-00: comes: its limits of requests and tokens do not come: give it some here by \`tollgate keys rates\``,
      `key sk-...r-00: comes: the budget of team t1 is overspent: it comes as 0`,
      `key sk-...r-02: comes: its aliases of models do not come`,
    ])
  },
)

postgresTest('what one account cannot say stays there, a line each', async () => {
  const [budgeted, created] = [
    { max_budget: 5, spend: 0 },
    { created_by: 'x', updated_by: 'x' },
  ]
  await theirs.insert('LiteLLM_BudgetTable', { budget_id: 'b1', max_budget: 9, ...created })
  await theirs.insert('LiteLLM_OrganizationTable', {
    organization_id: 'o1',
    organization_alias: 'Org',
    budget_id: 'b1',
    models: [],
    ...created,
  })
  await theirs.insert(
    'LiteLLM_UserTable',
    { user_id: 'u1', models: [], ...budgeted },
    { user_id: 'u2', models: ['small', 'other'], ...budgeted },
    { user_id: 'u3', models: [], spend: 0 },
  )
  const team = { admins: [], members: [], models: [] }
  await theirs.insert('LiteLLM_TeamTable', { team_id: 't1', ...team, ...budgeted }, { team_id: 't2', ...team, spend: 0 })
  await theirs.insert('LiteLLM_TeamMembership', { user_id: 'u3', team_id: 't2', spend: 1, budget_id: 'b1' })
  const [a = '', b = '', c = '', d = '', e = '', f = '', g = '', h = '', i = ''] = SECRETS
  await theirs.insert(
    'LiteLLM_VerificationToken',
    keyRow(a, { user_id: 'u1', team_id: 't1' }),
    keyRow(b, { organization_id: 'o1', max_budget: 1 }),
    keyRow(c, { user_id: 'u3', team_id: 't2', max_budget: 1 }),
    keyRow(d, { user_id: 'u3' }),
    keyRow(e, { user_id: 'u1', models: ['medium'] }),
    keyRow(f, { user_id: 'u2' }),
    keyRow(g, { user_id: 'u1', team_id: 'litellm-dashboard', max_budget: 1 }),
    keyRow(h, { user_id: 'u1', allowed_routes: ['info_routes'] }),
    keyRow(i, { user_id: 'u1', allowed_routes: ['/chat/completions', '/v1/chat/completions'], max_budget: 1 }),
    keyRow('short', { user_id: 'u1' }),
    keyRow('seventeen-letters', { user_id: 'u1', key_alias: 'weak' }),
    keyRow('enormous-budget-of-a-key', { max_budget: 1e9 }),
  )
  const { accounts, findings } = await look()
  expect(accounts).toEqual([])
  expect(findings.every(({ brought }) => !brought)).toBeTrue()
  expect(findings.map(({ what }) => what).sort()).toEqual([
    'it may use some routes only (/chat/completions, /v1/chat/completions), which cannot be said here: clear its allowed_routes there, or make a key here',
    'it may use some routes only (info_routes), which cannot be said here: clear its allowed_routes there, or make a key here',
    'it only signs a person in to the pages there',
    'it spends of a budget that one account cannot say (member of the team u3), beside the budget of its own',
    'it spends of a budget that one account cannot say (organization o1), beside the budget of its own',
    'it spends of a budget that one account cannot say (user u1, team t1), beside no budget of its own',
    'its budget is more than an account can hold here',
    'its secret has 5 characters: 16 to 125 can be a key here',
    'its secret has only 17 characters, and may be guessed: --accept-weak brings it',
    'no budget says how much it may spend: give it one there, or make a key here',
    'no plan here has exactly its models: medium',
    'no plan here has exactly its models: small, other',
  ])
  expect((await look('--accept-weak')).accounts).toMatchObject([{ source: 'user:u1', keys: [{ name: 'weak', display: 'sk-…ters' }] }])
})

postgresTest(
  'a second run changes nothing, and a later one brings what is new; a balance that differs there is told, and credited never again',
  async () => {
    await theirs.insert('LiteLLM_UserTable', { user_id: 'u1', user_alias: 'Alice', max_budget: 25, spend: 0, models: [] })
    await theirs.insert('LiteLLM_VerificationToken', keyRow(FIRST, { user_id: 'u1' }))
    await apply()
    const before = await place.json('audit', 'list')
    expect(await apply()).toMatchObject({ accounts: [], already_here: 1, findings: [] })
    expect(await place.json('audit', 'list')).toEqual(before)
    await theirs.insert('LiteLLM_VerificationToken', keyRow(SECOND, { user_id: 'u1', max_budget: 3 }))
    await theirs.ask(`UPDATE "LiteLLM_UserTable" SET spend = 5`)
    const later = await apply()
    expect(later).toMatchObject({
      already_here: 1,
      accounts: [{ source: 'user:u1', credit_usd_exact: '0', keys: [{ limit_usd_exact: '3' }] }],
    })
    expect(later.findings).toEqual([
      { subject: 'user:u1', brought: false, what: 'it has $20 there now, and had $25 when it came: nothing is credited again' },
    ])
    const { data } = await place.json<{ data: { name: string; balance_usd: number }[] }>('accounts', 'list')
    expect(data).toMatchObject([{ name: 'Alice', balance_usd: 25 }])
  },
)

postgresTest('--only brings the accounts that it names, and nothing of the others is told', async () => {
  await theirs.insert(
    'LiteLLM_UserTable',
    { user_id: 'u1', user_alias: 'Alice', max_budget: 2, spend: 0, models: [] },
    { user_id: 'u2', max_budget: 3, spend: 0, models: [] },
  )
  await theirs.insert(
    'LiteLLM_VerificationToken',
    keyRow(FIRST, { user_id: 'u1', rpm_limit: 1 }),
    keyRow(SECOND, { user_id: 'u2', rpm_limit: 1 }),
    keyRow(THIRD),
  )
  expect((await look('--only', 'Alice')).accounts.map(({ source }) => source)).toEqual(['user:u1'])
  const { accounts, findings } = await look('--only', 'u2')
  expect([accounts.map(({ source }) => source), findings.length]).toEqual([['user:u2'], 1])
})

postgresTest('nothing is brought while the other gateway may still answer, and nothing is written there', async () => {
  await theirs.insert('LiteLLM_VerificationToken', keyRow(FIRST, { max_budget: 2, last_active: iso(NOW - 10_000) }))
  const rows = await theirs.ask('SELECT * FROM "LiteLLM_VerificationToken"')
  const without = await place.run('import', 'litellm', '--from-env', 'LITELLM', '--apply')
  expect([without.code, without.err]).toEqual([2, expect.stringContaining('--source-stopped')])
  const running = await place.run('import', 'litellm', '--from-env', 'LITELLM', '--apply', '--source-stopped')
  expect([running.code, running.err]).toEqual([2, expect.stringContaining('less than a minute ago')])
  expect((await place.run('keys', 'list')).err).toContain('there is no ledger')
  place.now += 60_000
  expect((await apply()).accounts).toHaveLength(1)
  expect(await theirs.ask('SELECT * FROM "LiteLLM_VerificationToken"')).toEqual(rows)
})

postgresTest('a key that was rotated there answers by its old secret, too, until that ends', async () => {
  await theirs.insert('LiteLLM_VerificationToken', keyRow(FIRST, { max_budget: 2 }))
  const old = { active_token_id: tokenOf(FIRST) }
  await theirs.insert(
    'LiteLLM_DeprecatedVerificationToken',
    { id: '1', token: tokenOf(SECOND), revoke_at: iso(NOW + DAY_MS), ...old },
    { id: '2', token: tokenOf(THIRD), revoke_at: iso(NOW - 1), ...old },
  )
  await apply()
  const db = new Database(place.ledgerPath, { readonly: true })
  const secrets = db.query('SELECT lower(hex(hash)), form, valid_until FROM key_secrets ORDER BY valid_until').values()
  db.close()
  expect(secrets).toEqual([
    [tokenOf(FIRST), 'exact', null],
    [tokenOf(SECOND), 'exact', NOW + DAY_MS],
  ])
})

test('what is no database of LiteLLM is refused in words, without its address', async () => {
  place.write('dump.sql', '--\n-- PostgreSQL database dump\n--')
  place.write('other', 'something else entirely')
  place.env = { ...place.env, AWAY: 'postgres://me:hush@127.0.0.1:1/none' }
  const cases: [readonly string[], string][] = [
    [['litellm'], 'expected one of --from-env VARIABLE and --from FILE'],
    [
      ['litellm', '--from-env', 'NOWHERE'],
      'expected the address of Postgres or MySQL, or a file of SQLite, in the environment variable NOWHERE',
    ],
    [['litellm', '--from', 'postgres://me:hush@127.0.0.1/none'], 'an address holds a password'],
    [['litellm', '--from', 'dump.sql'], 'is a dump, which is not read'],
    [['litellm', '--from', 'other'], 'is no file of SQLite'],
    [['litellm', '--from-env', 'AWAY'], 'their database cannot be read'],
    [['--from', 'other'], 'expected one of litellm, one-api, new-api, or --check'],
    [['litellm', '--check'], '--check looks at all imported keys'],
  ]
  for (const [argv, words] of cases) {
    const { code, err } = await place.run('import', ...argv)
    expect([argv, code, err]).toEqual([argv, 2, expect.stringContaining(words)])
    expect(err).not.toContain('hush')
  }
})
