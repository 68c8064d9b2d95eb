/**
 * Two gateways under load while the primary of their Postgres is killed and its standby takes over: what clients saw, kept outside, is charged once, whether the standby
 * lacked the end or not, and a repetition under the same Idempotency-Key is no second request. Protects nodes.md "After a failover".
 */

import { afterEach, expect } from 'bun:test'
import { MESSAGE } from '../support/answered-gateway.ts'
import { asked, atEnd, endAll, failOver, holdBack, type Pair, startPair } from '../support/failover.ts'
import { type FakeUpstream, nativeMessage, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { postgresTest } from '../support/postgres.ts'
import { differencesIn } from '../support/postgres-ledger.ts'
import { until } from '../support/until.ts'

afterEach(endAll)

const BODY = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
/** Of a MESSAGE: 10 tokens at 3 USD and 5 at 15 USD a million. */
const COST = 105_000_000n
const CLIENTS = 4

type Seen = Readonly<{ header: string; requestId: string; isReplayed: boolean }>

/** One that asks again under another header for as long as it may, and remembers what it was answered in full. */
class Clients {
  readonly seen: Seen[] = []
  #isOver = false
  #last = 0
  readonly #running: Promise<unknown>[]

  constructor(gateways: readonly TestGateway[], secret: string) {
    this.#running = gateways.flatMap((gateway) => Array.from({ length: CLIENTS }, () => this.#run(gateway, secret)))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #run(gateway: TestGateway, secret: string): Promise<void> {
    while (!this.#isOver) {
      const seen = await ask(gateway, secret, `header-${++this.#last}`)
      if (seen === undefined) await Bun.sleep(20)
      else this.seen.push(seen)
    }
  }
}

async function ask(gateway: TestGateway, secret: string, header: string): Promise<Seen | undefined> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': header }
  const answer = await gateway.post('/v1/messages', secret, BODY, { headers })
  await answer.text()
  const requestId = answer.headers.get('request-id')
  if (answer.status !== 200 || requestId === null) return undefined
  return { header, requestId, isReplayed: answer.headers.get('idempotency-replayed') === 'true' }
}

type Stage = Readonly<{ pair: Pair; gateways: readonly TestGateway[]; upstream: FakeUpstream; secret: string }>

async function stage(): Promise<Stage> {
  const pair = await startPair()
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
  atEnd(() => upstream.stop())
  const start = async (): Promise<TestGateway> => {
    const gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url: pair.url, leaseMs: 8_000 } })
    atEnd(() => gateway.stop())
    return gateway
  }
  const gateways = [await start(), await start()]
  const secret = (await gateways[0]?.createKey({ balanceUsd: '100' })) ?? ''
  return { pair, gateways, upstream, secret }
}

const answered = ({ seen }: Clients, more: number): Promise<void> => {
  const from = seen.length
  return until(() => seen.length >= from + more, `${more} more are answered`, 60_000)
}

type Receipt = Readonly<{ request_id: string; cost_picos: bigint; outcome: string }>

async function expectOnce({ pair: { url }, gateways, secret }: Stage, { seen }: Clients): Promise<void> {
  const receipts = async () => (await asked(url, 'SELECT request_id, cost_picos, outcome FROM receipts')) as readonly Receipt[]
  const charged = new Map((await receipts()).map(({ request_id, cost_picos }) => [request_id, cost_picos]))
  expect(seen.filter(({ requestId }) => charged.get(requestId) !== COST)).toEqual([])
  const { length } = await receipts()
  expect(charged.size).toBe(length)
  const [gateway] = gateways
  if (gateway === undefined) throw new Error('no gateway')
  // The answers themselves may be gone with the old server: then it is said, and nothing is generated.
  for (const { header } of [...seen.slice(0, 5), ...seen.slice(-5)]) {
    const again = await ask(gateway, secret, header)
    expect(again === undefined || again.isReplayed).toBeTrue()
  }
  expect(await receipts()).toHaveLength(length)
  expect(differencesIn(url)).toEqual([])
}

const saysFailover = (gateway: TestGateway): boolean => gateway.logLines().some(({ alarm }) => alarm === 'Postgres failed over')

for (const kind of ['asynchronous', 'synchronous'] as const) {
  postgresTest(
    `killed under load, with ${kind === 'synchronous' ? 'a synchronous' : 'an asynchronous'} standby in its place: all that clients saw is charged once`,
    async () => {
      const given = await stage()
      const { pair, gateways, secret } = given
      if (kind === 'synchronous') {
        await pair.primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        await pair.primary.ask('SELECT pg_reload_conf()')
      }
      const clients = new Clients(gateways, secret)
      await answered(clients, 40)
      if (kind === 'asynchronous') {
        await holdBack(pair)
        await answered(clients, 60)
      }
      await failOver(pair)
      await until(() => gateways.every(saysFailover), 'both say it', 60_000)
      await answered(clients, 40)
      await clients.end()
      await expectOnce(given, clients)
      const lines = (await asked(pair.url, "SELECT after FROM audit_log WHERE action = 'failover'")) as readonly { after: string }[]
      const missing = lines.reduce((sum, { after }) => sum + (JSON.parse(after) as { requests: number }).requests, 0)
      if (kind === 'synchronous') expect(missing).toBe(0)
      else expect(missing).toBeGreaterThanOrEqual(60)
    },
    180_000,
  )
}
