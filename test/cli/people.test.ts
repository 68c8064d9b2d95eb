/** `tollgate people`: whom an operator lets in and puts out again, beside a gateway that runs or not, with its line in the audit log. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SQL } from 'bun'
import { Links } from '../../src/people/links.ts'
import { Memberships } from '../../src/people/memberships.ts'
import type { PeopleStore } from '../../src/people/people-sql.ts'
import { postgresPeople } from '../../src/people/postgres/postgres-people.ts'
import { sqlitePeople } from '../../src/people/sqlite-people.ts'
import { postgres, postgresTest } from '../support/postgres.ts'
import { NOW, Workplace } from './run.ts'

type Listed = {
  data: { email: string; is_operator: boolean; accounts: { id: string; role: string }[] }[]
  invitations: { email: string; role: string }[]
}

let place: Workplace
let accountId: string
beforeEach(async () => {
  place = new Workplace()
  accountId = (await place.json<{ id: string }>('accounts', 'create', 'acme')).id
})
afterEach(() => place.remove())

const inFile = (): PeopleStore => sqlitePeople({ path: join(dirname(place.ledgerPath), 'people.db') })

/** Follows a link as the pages do. */
async function follow(link: string, store: PeopleStore = inFile()): Promise<{ path: string; result: string }> {
  const { pathname } = new URL(link)
  const links = new Links(store, new Memberships(store, () => place.now), () => place.now)
  const { result } = await links.accept(pathname.split('/').at(-1) ?? '', { signedInAs: undefined, name: 'Ann', password: 'a hash' })
  await store.close()
  return { path: pathname.slice(0, pathname.lastIndexOf('/')), result }
}

test('an invitation is a link that works once; whoever followed it is listed, removed, and gone', async () => {
  const invited = await place.json<{ link: string; expires_at: string; role: string }>(
    'people',
    'invite',
    'Ann@Example.com',
    '--account',
    'acme',
    '--role',
    'reader',
  )
  expect(invited).toEqual({
    email: 'ann@example.com',
    account_id: accountId,
    role: 'reader',
    link: expect.stringMatching(/^http:\/\/localhost:8080\/cabinet\/invite\/[\w-]{43}$/),
    expires_at: new Date(NOW + 72 * 3_600_000).toISOString(),
  } as never)
  expect((await place.json<Listed>('people', 'list')).invitations).toMatchObject([{ email: 'ann@example.com', role: 'reader' }])
  expect(await follow(invited.link)).toEqual({ path: '/cabinet/invite', result: 'joined' })
  expect((await follow(invited.link)).result).toBe('gone')
  const operator = await place.json<{ link: string }>('people', 'invite', 'root@example.com', '--operator')
  expect(operator.link).toStartWith('http://localhost:9090/console/invite/')
  await follow(operator.link)
  const listed = await place.json<Listed>('people', 'list')
  expect(listed.invitations).toEqual([])
  expect(listed.data).toMatchObject([
    { email: 'ann@example.com', is_operator: false, accounts: [{ id: accountId, role: 'reader' }] },
    { email: 'root@example.com', is_operator: true, accounts: [] },
  ])
  expect((await place.run('people', 'list')).out).toMatch(/^ann@example\.com +Ann +acc_\w+ \(reader\) +0$/m)

  expect((await place.run('people', 'remove', 'root@example.com', '--account', 'acme')).code).toBe(2)
  expect((await place.run('people', 'remove', 'root@example.com', '--operator')).code).toBe(0)
  expect((await place.run('people', 'remove', 'ann@example.com', '--account', 'acme', '--reason', 'left')).out).toContain('no more access')
  expect((await place.json<Listed>('people', 'list')).data).toMatchObject([{ accounts: [] }, { is_operator: false }])
  expect((await place.run('people', 'remove', 'ann@example.com')).code).toBe(0)
  expect((await place.run('people', 'remove', 'ann@example.com')).code).toBe(2)
  const { data } = await place.json<{ data: unknown[] }>('audit', 'list', '--account', 'acme')
  expect(data.slice(0, 2)).toMatchObject([
    { action: 'setAccess', reason: 'left', after: { email: 'ann@example.com', access: 'none' } },
    { action: 'setAccess', after: { email: 'ann@example.com', access: 'reader' } },
  ])
})

test('links begin with the address that is configured', async () => {
  place.write('tollgate.toml', '[server]\npublic_url = "https://llm.example.com"\n[operator]\npublic_url = "https://ops.example.com"\n')
  const linkOf = async (...argv: string[]): Promise<string> => (await place.json<{ link: string }>('people', ...argv)).link
  expect(await linkOf('invite', 'ann@example.com', '--account', 'acme')).toStartWith('https://llm.example.com/cabinet/invite/')
  expect(await linkOf('invite', 'ann@example.com', '--operator')).toStartWith('https://ops.example.com/console/invite/')
  place.write('tollgate.toml', '[server]\npublic_url = "https://llm.example.com"\n[cabinet]\npublic_url = "https://my.example.com"\n')
  const link = await linkOf('invite', 'ann@example.com', '--account', 'acme')
  expect(link).toStartWith('https://my.example.com/cabinet/invite/')
  await follow(link)
  expect(await linkOf('reset', 'ann@example.com')).toMatch(/^https:\/\/my\.example\.com\/cabinet\/reset\/[\w-]{43}$/)
  expect((await place.run('people', 'reset', 'nobody@example.com')).code).toBe(2)
})

test('a link to a new password has its line in the audit log, with why; one that is not given has none', async () => {
  await follow((await place.json<{ link: string }>('people', 'invite', 'root@example.com', '--operator')).link)
  await place.json('people', 'reset', 'root@example.com', '--operator', '--reason', 'lost it')
  expect((await place.run('people', 'reset', 'nobody@example.com')).code).toBe(2)
  const { data } = await place.json<{ data: unknown[] }>('audit', 'list')
  expect(data.slice(0, 2)).toMatchObject([
    { action: 'giveLink', target: 'root@example.com', reason: 'lost it', after: { link: 'password', listener: 'console' } },
    { action: 'setAccess', target: 'root@example.com' },
  ])
})

postgresTest(
  'on Postgres they are invited, listed, given a new password and removed alike; one that is away is said so, and is 3',
  async () => {
    const url = await postgres().createDatabase()
    place.write('tollgate.toml', '[ledger]\nurl_env = "LEDGER_URL"\n')
    place.env = { LEDGER_URL: url }
    const { id } = await place.json<{ id: string }>('accounts', 'create', 'acme')
    const invited = await place.json<{ link: string }>('people', 'invite', 'ann@example.com', '--account', 'acme')
    expect((await place.json<Listed>('people', 'list')).invitations).toMatchObject([{ email: 'ann@example.com', role: 'owner' }])
    expect(await follow(invited.link, postgresPeople(url))).toEqual({ path: '/cabinet/invite', result: 'joined' })
    const { link } = await place.json<{ link: string }>('people', 'reset', 'ann@example.com')
    expect(link).toMatch(/\/cabinet\/reset\/[\w-]{43}$/)
    expect((await place.json<Listed>('people', 'list')).data).toMatchObject([
      { email: 'ann@example.com', accounts: [{ id, role: 'owner' }] },
    ])
    await place.json('people', 'remove', 'ann@example.com', '--account', 'acme')
    expect((await place.json<Listed>('people', 'list')).data).toMatchObject([{ accounts: [] }])

    // As when the server is stopped between the ledger's answer and the people's.
    const store = new SQL(postgres().asSuperuser(url))
    await store.unsafe(`CREATE FUNCTION going() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'going down' USING ERRCODE = '57P01'; END $$;
    CREATE TRIGGER going BEFORE INSERT ON people.invitations FOR EACH ROW EXECUTE FUNCTION going()`)
    await store.close()
    const { code, out, err } = await place.run('people', 'invite', 'bob@example.com', '--account', 'acme')
    expect([code, out, err]).toEqual([3, '', 'tollgate: the people cannot be asked: going down\n'])
    expect(existsSync(join(dirname(place.ledgerPath), 'people.db'))).toBe(false)
  },
  180_000,
)

test('wrong use leaves nothing behind', async () => {
  for (const [words, said] of [
    [['invite', 'ann@example.com'], 'give --account ACCOUNT or --operator'],
    [['invite', 'ann@example.com', '--account', 'acme', '--operator'], 'give --account ACCOUNT or --operator'],
    [['invite', 'ann@example.com', '--account', 'nobody'], 'nobody'],
    [['invite', 'ann@example.com', '--operator', '--role', 'reader'], 'an operator has no role'],
    [['invite', 'ann', '--operator'], 'Expected an e-mail address.'],
    [['invite', 'ann@example.com', '--account', 'acme', '--role', 'king'], 'owner, reader'],
  ] as const) {
    const { code, err } = await place.run('people', ...words)
    expect([words, code, err.includes(said)]).toEqual([words, 2, true])
  }
  expect(existsSync(join(dirname(place.ledgerPath), 'people.db'))).toBe(false)
  place.write('tollgate.toml', '[server]\nport = 0\n')
  expect((await place.run('people', 'invite', 'ann@example.com', '--account', 'acme')).err).toContain('set [cabinet] public_url')
})

test('without a ledger there is nobody to invite', async () => {
  const empty = new Workplace()
  expect((await empty.run('people', 'invite', 'ann@example.com', '--operator')).code).toBe(3)
  expect((await empty.run('people', 'list')).code).toBe(3)
  empty.remove()
})
