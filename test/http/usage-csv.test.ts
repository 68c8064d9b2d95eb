/**
 * A download of any length is read a page at a time and no faster than it is taken, and one that cannot be finished is seen to be broken. Rules: requests.md "Usage".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { csvStream } from '../../src/http/usage-csv.ts'
import type { ReceiptPage } from '../../src/ledger/reading/reports.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { holdRequest, settlement, usd } from '../support/ledger.ts'

const COUNT = 2_500
const PATH = '/v1/dashboard/usage/requests?format=csv'
let gateway: TestGateway
let secret: string

beforeAll(async () => {
  gateway = await startTestGateway()
  secret = await gateway.createKey({ id: 'key_long' })
  const { ledger } = gateway
  await fetch(`${gateway.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${secret}` } })
  for (let n = 0; n < COUNT; n++) await ledger.hold(holdRequest(`req_${n}`, 'key_long', usd('0.001'), { now: Date.now() }))
  const settled = Array.from({ length: COUNT }, (_, n) =>
    ledger.settle(settlement(`req_${n}`, { input: n }, { now: Date.now() - (n % 7) })),
  )
  expect(new Set(await Promise.all(settled))).toEqual(new Set(['settled']))
})
afterAll(() => gateway.stop())

const download = (): Promise<Response> => fetch(`${gateway.url}${PATH}`, { headers: { authorization: `Bearer ${secret}` } })

test('every request is in it once, newest first, over all pages', async () => {
  const lines = (await (await download()).text()).split('\r\n').slice(1, -1)
  const ids = lines.map((line) => line.split(',')[0])
  expect([lines.length, new Set(ids).size]).toEqual([COUNT, COUNT])
  const times = lines.map((line) => line.split(',')[2] ?? '')
  expect(times.toSorted().toReversed()).toEqual(times)
})

test('no page is read before the one before it was taken', async () => {
  const asked: string[] = []
  const page = (next: string | null): ReceiptPage => ({ rows: [], next })
  const next = (after: string): Promise<ReceiptPage> => {
    asked.push(after)
    return Promise.resolve(page(after === 'c' ? null : String.fromCharCode(after.charCodeAt(0) + 1)))
  }
  const reader = csvStream(page('a'), next).getReader()
  expect(asked).toEqual([])
  await reader.read()
  expect(asked).toEqual([])
  expect((await reader.read()).done).toBe(true)
  expect(asked).toEqual(['a', 'b', 'c'])
})

test('a page that has to wait for its turn is asked again; one that cannot be read breaks the file', async () => {
  const answers: (ReceiptPage | 'tooMany' | 'overloaded' | 'unavailable')[] = [
    'tooMany',
    'overloaded',
    { rows: [], next: 'b' },
    'unavailable',
  ]
  const reader = csvStream({ rows: [], next: 'a' }, () => Promise.resolve(answers.shift() ?? 'unavailable')).getReader()
  await reader.read()
  const broken = await reader.read().then(
    () => 'ended',
    (error: unknown) => String(error),
  )
  expect([broken, answers]).toEqual(['Error: the ledger answered unavailable', []])
})

test('a client sees that a file broke off', async () => {
  const other = await startTestGateway()
  try {
    const key = await other.createKey({ id: 'key_long' })
    await fetch(`${other.url}/v1/dashboard/balance`, { headers: { authorization: `Bearer ${key}` } })
    for (let n = 0; n < 1_500; n++) await other.ledger.hold(holdRequest(`req_${n}`, 'key_long', usd('0.001'), { now: Date.now() }))
    await Promise.all(Array.from({ length: 1_500 }, (_, n) => other.ledger.settle(settlement(`req_${n}`))))
    const { reports } = other.world
    const { ask } = reports
    // The second page never comes.
    Object.assign(reports, {
      ask: (client: string, question: Parameters<typeof ask>[1]) =>
        'after' in question ? Promise.resolve('unavailable') : ask.call(reports, client, question),
    })
    const answer = await fetch(`${other.url}${PATH}`, { headers: { authorization: `Bearer ${key}` } })
    expect(answer.status).toBe(200)
    expect(
      await answer.text().then(
        () => 'whole',
        () => 'broken',
      ),
    ).toBe('broken')
  } finally {
    await other.stop()
  }
})
