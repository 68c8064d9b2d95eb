/**
 * The people of an account by its page's endpoints: owners invite, change roles and put out, each act in the audit log; readers look; an account is never without an
 * owner; and nobody learns of, or changes, another's. Rules: pages.md "Members", "Links".
 */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { apiErrors } from '../../../src/web/api/answers.ts'
import { originGuard } from '../../../src/web/api/caller.ts'
import { memberRoutes } from '../../../src/web/api/members.ts'
import type { Site } from '../../../src/web/site.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { Browser, PASSWORD, PeopleWorld } from '../../support/people.ts'

let world: PeopleWorld
let gateway: TestGateway
let isLedgerUp: boolean
let app: { handle(request: Request): Promise<Response> }

const start = (options: ConstructorParameters<typeof PeopleWorld>[0] = {}): void => {
  world = new PeopleWorld({ publicUrl: 'https://gate.example', ...options })
  isLedgerUp = true
  const { ledger } = gateway.world
  const operate: Ledger['operate'] = (operation, act) =>
    isLedgerUp ? ledger.operate(operation, act) : Promise.resolve({ result: 'unavailable' })
  const clock = { now: Date.now, monotonicMs: () => world.now }
  const site = { world: { ledger: { operate }, clock }, people: () => world.people } as unknown as Site
  app = new Elysia({ strictPath: true }).use(apiErrors()).use(originGuard(site.people, 'cabinet')).use(memberRoutes(site))
}

beforeEach(async () => {
  gateway = await startTestGateway()
  for (const accountId of ['acc_north', 'acc_south'])
    await gateway.operate({ kind: 'createAccount', accountId, name: '', topUp: null, now: Date.now() })
})
afterEach(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
  await world.remove()
})

const NORTH = '/api/accounts/acc_north/members'

async function member(email: string, accountId = 'acc_north', role: 'owner' | 'reader' = 'owner'): Promise<Browser> {
  const { cookies } = await world.add(email, accountId, role)
  const browser = new Browser(app, world.people.origins('cabinet').base, 'cabinet', '192.0.2.1')
  browser.cookies = cookies
  return browser
}
const tokenOf = (text: unknown): string => /\/([\w-]{24,43})$/m.exec(String(text))?.[1] ?? ''
const follow = (token: string) => world.browser().post('/auth/invite', { token, password: PASSWORD })
const rolesOf = async (accountId: string) =>
  Object.fromEntries((await world.people.memberships.membersOf(accountId)).map(({ email, role }) => [email.split('@')[0], role]))

async function audited() {
  const audit = await gateway.world.reports.ask('test', { kind: 'audit', limit: 20 })
  if (typeof audit === 'string') throw new Error(audit)
  return audit.rows
    .filter(({ action }) => action === 'setAccess')
    .map(({ actor, address, target, after }) => [actor, address, target, after])
}

test('an owner invites by a link that is shown once, the invited comes in, and both stand in the list and the audit log', async () => {
  start()
  const ann = await member('ann@example.com')
  const made = await ann.post(NORTH, { email: ' Bob@Example.com', role: 'reader' })
  expect(made).toMatchObject({ status: 200, body: { email: 'bob@example.com', role: 'reader', is_mailed: false } })
  expect(made.body['link']).toStartWith('https://gate.example/cabinet/invite/')
  expect(made.headers.get('cache-control')).toBe('no-store')
  const before = await ann.get(NORTH)
  expect(before.body).toMatchObject({
    data: [{ email: 'ann@example.com', role: 'owner', is_you: true }],
    invitations: [{ email: 'bob@example.com', role: 'reader', expires_at: made.body['expires_at'] }],
    sends_mail: false,
  })
  expect(JSON.stringify(before.body)).not.toContain(tokenOf(made.body['link']))
  expect((await follow(tokenOf(made.body['link']))).status).toBe(200)
  expect((await ann.get(NORTH)).body).toMatchObject({
    data: [{ is_you: true }, { email: 'bob@example.com', role: 'reader' }],
    invitations: [],
  })
  expect(await ann.post(NORTH, { email: 'bob@example.com', role: 'owner' })).toMatchObject({
    status: 409,
    body: { error: { field: 'email' } },
  })
  expect((await ann.post(`${NORTH}/role`, { email: 'bob@example.com', role: 'owner' })).status).toBe(200)
  expect((await ann.post(`${NORTH}/remove`, { email: 'bob@example.com' })).status).toBe(200)
  expect(await rolesOf('acc_north')).toEqual({ ann: 'owner' })
  const by = ['person:ann@example.com', '192.0.2.1', 'acc_north']
  expect(await audited()).toEqual(
    ['none', 'owner', 'reader'].map((access) => [...by, JSON.stringify({ email: 'bob@example.com', access })]),
  )
})

test('where mail is set up only the mail has an invitation, and nothing in it that anybody typed; a later one takes its place', async () => {
  start({ sendsMail: true })
  const ann = await member('ann@example.com')
  const linkOf = (text: unknown): string => /https?:\S+/.exec(String(text))?.[0] ?? ''
  const first = await ann.post(NORTH, { email: 'bob@example.com', role: 'owner' })
  expect(first).toMatchObject({ status: 200, body: { is_mailed: true, link: null } })
  expect(world.mails).toMatchObject([{ to: 'bob@example.com' }])
  expect(JSON.stringify(world.mails)).not.toContain('ann@')
  // One mail a minute and address; the link that is on its way stays good.
  expect((await ann.post(NORTH, { email: 'bob@example.com', role: 'reader' })).status).toBe(429)
  expect(world.mails.length).toBe(1)
  world.now += 61_000
  expect((await ann.post(NORTH, { email: 'bob@example.com', role: 'reader' })).body).toMatchObject({ is_mailed: true, link: null })
  const [former, later] = world.mails.map(({ text }) => tokenOf(linkOf(text)))
  expect((await follow(former ?? '')).status).toBe(410)
  expect((await follow(later ?? '')).status).toBe(200)
  expect(await rolesOf('acc_north')).toEqual({ ann: 'owner', bob: 'reader' })
})

test('an invitation that was not followed is withdrawn; who is put out is out with the next request', async () => {
  start()
  const ann = await member('ann@example.com')
  const bob = await member('bob@example.com')
  const { body } = await ann.post(NORTH, { email: 'cat@example.com', role: 'owner' })
  expect((await ann.post(`${NORTH}/remove`, { email: 'cat@example.com' })).status).toBe(200)
  expect((await follow(tokenOf(body['link']))).status).toBe(410)
  expect((await bob.get(NORTH)).status).toBe(200)
  expect((await ann.post(`${NORTH}/remove`, { email: 'bob@example.com' })).status).toBe(200)
  expect((await bob.get(NORTH)).status).toBe(401)
  expect((await ann.post(`${NORTH}/remove`, { email: 'bob@example.com' })).status).toBe(404)
})

test('an account keeps one owner, however many leave at once', async () => {
  start()
  const ann = await member('ann@example.com')
  await member('rea@example.com', 'acc_north', 'reader')
  for (const [path, body] of [
    ['/remove', { email: 'ann@example.com' }],
    ['/role', { email: 'ann@example.com', role: 'reader' }],
  ] as const)
    expect(await ann.post(`${NORTH}${path}`, body)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('keeps one owner') } },
    })
  expect((await ann.post(`${NORTH}/remove`, { email: 'rea@example.com' })).status).toBe(200)
  const bob = await member('bob@example.com')
  const statuses = await Promise.all([
    ann.post(`${NORTH}/role`, { email: 'bob@example.com', role: 'reader' }),
    bob.post(`${NORTH}/role`, { email: 'ann@example.com', role: 'reader' }),
    ann.post(`${NORTH}/remove`, { email: 'ann@example.com' }),
    bob.post(`${NORTH}/remove`, { email: 'bob@example.com' }),
  ])
  expect(statuses.map(({ status }) => status)).toContain(409)
  expect(Object.values(await rolesOf('acc_north'))).toEqual(['owner'])
})

test('readers look, others and other accounts find nothing, other pages do nothing', async () => {
  start()
  const ann = await member('ann@example.com')
  const rea = await member('rea@example.com', 'acc_north', 'reader')
  const eve = await member('eve@example.com', 'acc_south')
  const nobody = new Browser(app, 'https://gate.example', 'cabinet', '192.0.2.9')
  const writes = [
    ['', { email: 'new@example.com', role: 'owner' }],
    ['/role', { email: 'rea@example.com', role: 'owner' }],
    ['/remove', { email: 'ann@example.com' }],
  ] as const
  for (const [path, body] of writes) {
    for (const [who, status] of [
      [rea, 403],
      [eve, 404],
      [nobody, 401],
    ] as const)
      expect([path, (await who.post(`${NORTH}${path}`, body)).status]).toEqual([path, status])
  }
  expect((await rea.get(NORTH)).status).toBe(200)
  expect((await eve.get(NORTH)).status).toBe(404)
  // By her own account's address she reaches nobody of another.
  for (const path of ['/role', '/remove'])
    expect(
      (await eve.post(`/api/accounts/acc_south/members${path}`, { email: 'ann@example.com', role: 'reader' })).status,
    ).toBeGreaterThanOrEqual(400)
  ann.origin = 'https://evil.example'
  for (const [path, body] of writes) expect((await ann.post(`${NORTH}${path}`, body)).status).toBe(403)
  expect(await rolesOf('acc_north')).toEqual({ ann: 'owner', rea: 'reader' })
  expect(await audited()).toEqual([])
})

test('what is wrong is named with its field; twenty invitations at once are all, and a hundred places', async () => {
  start()
  const ann = await member('ann@example.com')
  for (const [body, field] of [
    [{ email: 'nobody', role: 'owner' }, 'email'],
    [{ email: 'a@b.c, d@e.f', role: 'owner' }, 'email'],
    [{ email: 'x', role: 'owner' }, 'email'],
    [{ email: 'bob@example.com', role: 'operator' }, 'role'],
  ] as const)
    expect(await ann.post(NORTH, body)).toMatchObject({ status: 400, body: { error: { field } } })
  const statuses: number[] = []
  for (let n = 0; n < 21; n++) statuses.push((await ann.post(NORTH, { email: `p${n}@example.com`, role: 'reader' })).status)
  expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429])
  expect((await ann.post(NORTH, { email: 'q@example.com', role: 'reader' })).headers.get('retry-after')).toBe('180')
  for (let n = 20; n < 99; n++) await world.people.links.invite(`p${n}@example.com`, { accountId: 'acc_north', role: 'reader' }, 'os:test')
  world.now += 3_600_000
  expect((await ann.post(NORTH, { email: 'q@example.com', role: 'reader' })).status).toBe(409)
  // One who is invited already takes no further place.
  expect((await ann.post(NORTH, { email: 'p1@example.com', role: 'reader' })).status).toBe(200)
})

test('while the ledger cannot write nobody is let in, and who is put out is out', async () => {
  start()
  const ann = await member('ann@example.com')
  await member('rea@example.com', 'acc_north', 'reader')
  isLedgerUp = false
  expect((await ann.post(NORTH, { email: 'bob@example.com', role: 'owner' })).status).toBe(503)
  expect((await ann.post(`${NORTH}/role`, { email: 'rea@example.com', role: 'owner' })).status).toBe(503)
  expect(await rolesOf('acc_north')).toEqual({ ann: 'owner', rea: 'reader' })
  expect(await ann.post(`${NORTH}/remove`, { email: 'rea@example.com' })).toMatchObject({
    status: 503,
    body: { error: { message: expect.stringMatching(/^Removed/) } },
  })
  expect(await rolesOf('acc_north')).toEqual({ ann: 'owner' })
  expect((await ann.get(NORTH)).body['invitations']).toEqual([])
})
