/** Two nodes with one Postgres tell what one would: each crossing under one id, each delivery once, and what a node that died has left. Rules: pages.md "Alerts". */

import { afterEach, beforeEach, expect } from 'bun:test'
import type { Attempted } from '../../src/alerts/delivery-store.ts'
import { CLAIM_MS } from '../../src/alerts/delivery-store.ts'
import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite, postgresTest } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { AlertWorld, usd } from './alert-world.ts'

const DELIVERED: Attempted = { status: 200, problem: null }

let world: AlertWorld
const deliveries = (accountId = 'acct_1') => world.deliveries.list(accountId, null, 100)
const isAllTold = async (accountId: string, count: number): Promise<boolean> => {
  const all = await deliveries(accountId)
  return all.length === count && all.every(({ state }) => state === 'delivered')
}

postgresSuite('two nodes', () => {
  peopleOnPostgres()
  beforeEach(() => {
    world = new AlertWorld()
  })
  afterEach(() => world.end())

  postgresTest('what both judge in the same moment is told once, and each of its deliveries is made by one of them', async () => {
    const accounts = Array.from({ length: 12 }, (_, n) => `acct_${n}`)
    for (const accountId of accounts) {
      await world.addAlert(accountId, { webhooks: [await world.addWebhook(accountId, `https://${accountId}.example/`)] })
      world.balances.set(accountId, usd('1'))
    }
    const sent: string[] = []
    const sendWebhook = async ({ url }: { url: string }): Promise<Attempted> => {
      sent.push(url)
      await Bun.sleep(5)
      return DELIVERED
    }
    world.start({ sendWebhook })
    world.startAnother({ sendWebhook })
    for (const accountId of accounts) await until(() => isAllTold(accountId, 1))
    for (const accountId of accounts) await until(() => (world.looks.get(accountId) ?? 0) > 3)
    expect(await world.query('SELECT id FROM alert_events')).toHaveLength(accounts.length)
    expect(sent.toSorted()).toEqual(accounts.map((accountId) => `https://${accountId}.example/`).toSorted())
  })

  postgresTest('two of an account and one a receiver are under way, however many nodes there are', async () => {
    const webhooks: string[] = []
    for (const n of [1, 2, 3]) webhooks.push(await world.addWebhook('acct_1', `https://hook${n}.example/`))
    const event = { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acct_1' } } as const
    for (const n of [1, 2, 3]) await world.store.tell('acct_1', { eventId: `evt_${n}`, event }, { emails: [], webhooks })
    const underWay: string[] = []
    let most = 0
    const sendWebhook = async ({ url }: { url: string }): Promise<Attempted> => {
      expect(underWay).not.toContain(url)
      most = Math.max(most, underWay.push(url))
      await Bun.sleep(80)
      underWay.splice(underWay.indexOf(url), 1)
      return DELIVERED
    }
    const [one, other] = [world.start({ sendWebhook }), world.startAnother({ sendWebhook })]
    await until(() => {
      one.deliver()
      other.deliver()
      return isAllTold('acct_1', 9)
    })
    expect(most).toBe(2)
  })

  for (const status of [500, 410])
    postgresTest(
      `what a node began and did not end another begins a minute later, and a ${status} that the first hears then changes nothing`,
      async () => {
        await world.addAlert('acct_1', { webhooks: [await world.addWebhook('acct_1', 'https://hook.example/')] })
        world.balances.set('acct_1', usd('1'))
        const paused = Promise.withResolvers<Attempted>()
        const sent: string[] = []
        const sender = (name: string, answer: Promise<Attempted>) => ({
          sendWebhook: ({ id }: { id: string }) => {
            sent.push(`${name} ${id}`)
            return answer
          },
        })
        world.start(sender('first', paused.promise))
        await until(() => sent.length === 1)
        const other = world.startAnother(sender('other', Promise.resolve(DELIVERED)))
        world.nowMs += CLAIM_MS - 1
        other.deliver()
        await Bun.sleep(50)
        expect(sent).toHaveLength(1)
        world.nowMs += 1
        other.deliver()
        await until(() => isAllTold('acct_1', 1))
        const [event] = await world.query<{ id: string }>('SELECT id FROM alert_events')
        expect(sent).toEqual([`first ${event?.id}`, `other ${event?.id}`])
        paused.resolve({ status, problem: `status ${status}` })
        await Bun.sleep(100)
        expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 1, lastStatus: 200, lastProblem: null }])
      },
    )

  postgresTest('a node that takes long keeps what it has claimed', async () => {
    await world.store.tell(
      'acct_1',
      { eventId: 'evt_1', event: { type: 'alert.test', timestamp: '', data: { alert_id: null, account_id: 'acct_1' } } },
      { emails: ['ann@example.com'], webhooks: [] },
    )
    const [due] = await world.deliveries.claim(1, () => true)
    world.nowMs += CLAIM_MS - 1
    await world.deliveries.renew()
    const other = world.another()
    world.nowMs += CLAIM_MS - 1
    expect(await other.claim(1, () => true)).toEqual([])
    expect(await other.nextAt()).toBe(world.nowMs + 1)
    world.nowMs += 1
    expect(await other.claim(1, () => true)).toEqual(due === undefined ? [] : [due])
  })

  postgresTest('of several nodes one looks by itself each while; one that is asked looks all the same', async () => {
    await world.addAlert('acct_1')
    world.balances.set('acct_1', usd('100'))
    const everyMs = 200
    const nodes = [world.start({ everyMs }), world.startAnother({ everyMs }), world.startAnother({ everyMs })]
    const looks = (): number => world.looks.get('acct_1') ?? 0
    await until(() => looks() >= nodes.length)
    const [before, startedMs] = [looks(), performance.now()]
    await Bun.sleep(5 * everyMs)
    await until(() => looks() > before)
    // One in each while, and those of nodes that had not begun before.
    expect(looks() - before).toBeLessThanOrEqual(Math.ceil((performance.now() - startedMs) / everyMs) + nodes.length)
    const asked = looks()
    for (const node of nodes) node.look()
    await until(() => looks() >= asked + nodes.length)
  })

  postgresTest('what was made on another node is watched where nobody had an alert before', async () => {
    const [one, other] = [world.start(), world.startAnother()]
    for (const { store } of [one, other, one, other]) await store.watchedAccounts('', 1)
    await Bun.sleep(300)
    await world.addAlert('acct_1')
    world.balances.set('acct_1', usd('100'))
    await Bun.sleep(50)
    expect(world.looks.get('acct_1')).toBeUndefined()
    other.resume()
    await until(() => (world.looks.get('acct_1') ?? 0) > 2)
  })
})
