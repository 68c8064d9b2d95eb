/** What past requests would have cost under the file that a reload would read: of operators alone, with amounts that are exact, and bounded. Rules: pages.md "Catalog"; money.md "What if". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Catalog } from '../../../src/core/catalog.ts'
import { picos, ZERO } from '../../../src/core/money.ts'
import { DAY_MS } from '../../../src/core/utc.ts'
import type { QuestionOf, Reports } from '../../../src/ledger/reading/reports.ts'
import { whatIf } from '../../../src/web/api/what-if.ts'
import { type FakeUpstream, nativeStream, startFakeUpstream, textFrames } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'

type ReadConfig = NonNullable<NonNullable<Parameters<typeof startTestGateway>[0]>['readConfig']>

let read: ReadConfig = (inForce) => inForce
let upstream: FakeUpstream
let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  upstream = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Hello there')) })
  gateway = await startTestGateway({ upstreams: [upstream.url], readConfig: (inForce) => read(inForce) })
  operator = await signInOperator(gateway)
  const secret = await gateway.createKey()
  for (let n = 0; n < 3; n++)
    await (
      await gateway.post('/v1/messages', secret, {
        model: MODEL_ID,
        max_tokens: 16,
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      })
    ).text()
  await gateway.idle()
})
afterAll(async () => {
  await gateway.stop()
  await upstream.stop()
})

type Answer = Awaited<ReturnType<typeof whatIf>>
const answered = async (): Promise<Exclude<Answer, Response>> => {
  const answer = await operator.get('/console/api/catalog/repriced')
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return (await answer.json()) as Exclude<Answer, Response>
}

/** Each of its models with other rates. */
const priced = (catalog: Catalog, factor: bigint): Catalog => ({
  ...catalog,
  models: new Map(
    [...catalog.models].map(([id, model]) => [
      id,
      { ...model, rates: { ...model.rates, input: picos(model.rates.input * factor), output: picos(model.rates.output * factor) } },
    ]),
  ),
})

test('the file in force costs what was charged; one that is three times as dear costs three times as much, and nothing is changed', async () => {
  const charged = gateway.receipts().reduce((sum, { costPicos }) => picos(sum + costPicos), ZERO)
  expect(charged).toBeGreaterThan(0n)
  read = (inForce) => inForce
  const same = await answered()
  expect(same).toMatchObject({ problems: [], cut_at: null, more_accounts: 0, total: { receipts: 3, difference_usd: '0' } })
  read = (inForce) => ({ ...inForce, catalog: priced(inForce.catalog, 3n) })
  const dearer = await answered()
  const picosIn = (text: string): bigint => BigInt(Math.round(Number(text) * 1e12))
  expect([dearer.total.charged_usd, dearer.total.repriced_usd, dearer.total.difference_usd].map(picosIn)).toEqual([
    charged,
    charged * 3n,
    charged * 2n,
  ])
  expect(dearer.models).toEqual([{ model: MODEL_ID, ...dearer.total }])
  expect(dearer.accounts).toEqual([{ account_id: 'acc_1', name: '', ...dearer.total }])
  expect(Date.parse(dearer.to) - Date.parse(dearer.from)).toBe(30 * DAY_MS)
  expect(await answered()).toMatchObject({ total: { receipts: 3 } })
  expect(gateway.receipts()).toHaveLength(3)
  expect(gateway.verify()).toEqual([])
})

test('models that the file lacks are counted, and mistakes of the file are all that is said of it', async () => {
  read = (inForce) => ({ ...inForce, catalog: { ...inForce.catalog, models: new Map() } })
  expect(await answered()).toMatchObject({
    total: { receipts: 0, difference_usd: '0', missing: { receipts: 3 } },
    models: [{ model: MODEL_ID }],
  })
  const problems = [{ path: 'models[0].input', message: 'expected a decimal' }]
  read = () => ({ file: '/etc/tollgate.toml', problems })
  expect(await answered()).toMatchObject({ problems, models: [], accounts: [], total: { receipts: 0 } })
})

test('it is for operators alone', async () => {
  expect((await fetch(`${gateway.operatorUrl}/console/api/catalog/repriced`)).status).toBe(401)
  const onClients = await fetch(`${gateway.url}/console/api/catalog/repriced`, { headers: { cookie: operator.cookie } })
  expect(onClients.status).toBe(404)
})

/** A reader whose ledger never ends: each part has one more receipt of another account. */
function endless(asked: QuestionOf<'repriced'>[]): Reports {
  const answer = (question: QuestionOf<'repriced'>) => {
    asked.push(question)
    const none = { receipts: 0, nowPicos: ZERO, thenPicos: ZERO }
    const rows = Array.from({ length: 10 }, (_, index) => ({
      accountId: `acc_${asked.length}_${index}`,
      accountName: '',
      modelId: 'm',
      charged: { receipts: 1, nowPicos: picos(1n), thenPicos: picos(3n) },
      waived: none,
      missing: none,
    }))
    return { rows, earliestAt: 1_000_000 - asked.length, next: `req_${asked.length}` }
  }
  return {
    ask: ((_: string, question: QuestionOf<'repriced'>) => Promise.resolve(answer(question))) as Reports['ask'],
    close: () => Promise.resolve(),
  }
}

test('the work is bounded, goes on where the part before ended, and says since when it has looked', async () => {
  const asked: QuestionOf<'repriced'>[] = []
  const world = { ...gateway.world, reports: endless(asked) }
  const { catalog } = gateway.world
  const answer = await whatIf({ world, readConfig: () => ({ catalog: catalog() }) as never }, 'person')
  if (answer instanceof Response) throw new Error('it was refused')
  expect(asked.map(({ after }) => after)).toEqual([undefined, ...Array.from({ length: 19 }, (_, index) => `req_${index + 1}`)])
  expect(asked.every(({ limit, from, to }) => limit === 10_000 && (to ?? 0) - (from ?? 0) === 30 * DAY_MS)).toBeTrue()
  expect(answer).toMatchObject({
    cut_at: new Date(1_000_000 - 20).toISOString(),
    more_accounts: 100,
    total: { receipts: 200, difference_usd: '0.0000000004' },
  })
  expect(answer.accounts).toHaveLength(100)
})

test('a reader that cannot answer is said with what to do', async () => {
  const reports = { ask: () => Promise.resolve('tooMany'), close: () => Promise.resolve() } as unknown as Reports
  const answer = await whatIf(
    { world: { ...gateway.world, reports }, readConfig: () => ({ catalog: gateway.world.catalog() }) as never },
    'p',
  )
  expect(answer instanceof Response && [answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
})
