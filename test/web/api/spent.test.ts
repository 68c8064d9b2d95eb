/** What was spent in a span, on the console's overview: by model, account or key the sums of the receipts of its hours, beside those of as many hours before; what is asked wrong is told with its field. Rules: pages.md "Now". */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { SERIES_MAX } from '../../../src/core/explore.ts'
import { picos, sumPicos, toExactUsdText } from '../../../src/core/money.ts'
import { DAY_MS } from '../../../src/core/utc.ts'
import { HOUR_MS } from '../../../src/core/windows.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { makeHistory } from '../../support/history.ts'
import { createKey, holdRequest, settlement, usd } from '../../support/ledger.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import { randomFrom, SEED } from '../../support/seed.ts'

setDefaultTimeout(60_000)

let gateway: TestGateway
let operator: Operator
beforeAll(async () => {
  gateway = await startTestGateway()
  operator = await signInOperator(gateway)
  await makeHistory(gateway, randomFrom(SEED), 60)
})
afterAll(() => gateway.stop())

type Shown = {
  from: string
  to: string
  step_s: number
  places: string[]
  series: { things: { id: string }[] | null; values: string[] }[]
  data: { things: { id: string }[]; requests: number; cost_usd: string; before_usd: string }[]
  total: { requests: number; cost_usd: string; waived_usd: string; before_usd: string }
}
const shown = async (query: string): Promise<Shown> => (await operator.get(`/console/api/spent?${query}`)).json() as Promise<Shown>

const OF = { model: 'modelId', account: 'accountId', key: 'keyId' } as const

for (const [hours, stepS] of [
  [1, 3_600],
  [48, 3_600],
  [49, 86_400],
  [72, 86_400],
] as const)
  for (const by of ['model', 'account', 'key'] as const)
    test(`the sums are those of the receipts of ${hours} hours, by ${by}, beside those before`, async () => {
      const to = Math.ceil(Math.max(...gateway.receipts().map(({ settledAt }) => settledAt + 1)) / HOUR_MS) * HOUR_MS
      // A span within hours has all of both.
      const from = to - hours * HOUR_MS + (hours > 1 ? HOUR_MS / 2 : 0)
      const asked = `by=${by}&from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
      const found = await shown(asked)
      const first = to - hours * HOUR_MS
      const within = (start: number, end: number) => gateway.receipts().filter(({ settledAt }) => settledAt >= start && settledAt < end)
      const [now, before] = [within(first, to), within(first - hours * HOUR_MS, first)]
      const cost = (of: typeof now): string => toExactUsdText(sumPicos(...of.map(({ costPicos }) => costPicos)))
      expect([found.from, found.to, found.step_s]).toEqual([new Date(first).toISOString(), new Date(to).toISOString(), stepS])
      expect(found.total).toMatchObject({ requests: now.length, cost_usd: cost(now), before_usd: cost(before) })
      const ids = [...new Set(now.map((one) => one[OF[by]]))]
      const ofId = (of: typeof now, id: string) => of.filter((one) => one[OF[by]] === id)
      expect(
        found.data.map(({ things, requests, cost_usd, before_usd }) => [things[0]?.id, requests, cost_usd, before_usd]).toSorted(),
      ).toEqual(ids.map((id) => [id, ofId(now, id).length, cost(ofId(now, id)), cost(ofId(before, id))]).toSorted())
      const costs = found.data.map(({ cost_usd }) => Number(cost_usd))
      expect(costs).toEqual(costs.toSorted((a, b) => b - a))
      for (const { things, values } of found.series) {
        expect(values.length).toBe(found.places.length)
        const parts = values.map((value) => picos(BigInt(Math.round(Number(value) * 1e12))))
        expect(toExactUsdText(sumPicos(...parts))).toBe(cost(ofId(now, things?.[0]?.id ?? '')))
      }
      expect(found.places.every((place) => !Number.isNaN(Date.parse(place)))).toBe(true)
    })

test('of more things than a chart has colours the dearest have series, and all others together are one more', async () => {
  const many = SERIES_MAX + 5
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const agesH = [0, 3, 26, 30, 50]
  for (let n = 0; n < many; n++) {
    const keyId = `key_many_${n}`
    await gateway.operate({ ...createKey(keyId, { balanceUsd: '1' }), now: now - 9 * DAY_MS })
    await gateway.ledger.findKey(createKey(keyId).secretHash)
    for (const [index, ageH] of agesH.entries()) {
      const requestId = `req_many_${n}_${index}`
      await gateway.ledger.hold(holdRequest(requestId, keyId, usd('0.05'), { now, modelId: `many-${n}` }))
      // A week ago, when nothing else was; each costs another amount.
      const at = now - 7 * DAY_MS - ageH * HOUR_MS
      await gateway.ledger.settle(settlement(requestId, { input: 10 * (n + 1) + index }, { now: at }))
    }
  }
  const to = now - 7 * DAY_MS + HOUR_MS
  for (const by of ['model', 'key', 'account'] as const)
    for (const hours of [48, 72]) {
      const from = to - hours * HOUR_MS
      const asked = `by=${by}&from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
      const { places, series, data, total } = await shown(asked)
      const within = gateway.receipts().filter(({ settledAt }) => settledAt >= from && settledAt < to)
      const costs = (of: typeof within): string => toExactUsdText(sumPicos(...of.map(({ costPicos }) => costPicos)))
      const dearest = Array.from(
        { length: SERIES_MAX },
        (_, n) => within.find(({ keyId }) => keyId === `key_many_${many - 1 - n}`)?.[OF[by]],
      )
      expect(series.map(({ things }) => things?.[0]?.id)).toEqual([...dearest, undefined])
      expect([data.length, total.cost_usd]).toEqual([10, costs(within)])
      const step = hours > 48 ? DAY_MS : HOUR_MS
      for (const { things, values } of series) {
        const id = things?.[0]?.id
        const of = within.filter((one) => (id === undefined ? !dearest.includes(one[OF[by]]) : one[OF[by]] === id))
        expect(values).toEqual(
          places.map((place) => costs(of.filter(({ settledAt }) => Math.floor(settledAt / step) * step === Date.parse(place)))),
        )
      }
    }
})

for (const [query, field] of [
  ['by=upstream', 'by'],
  ['span=year', 'span'],
  ['from=yesterday', 'from'],
  ['from=2020-01-01', 'from'],
] as const)
  test(`what is asked wrong is told with its field: ${query}`, async () => {
    const answer = await operator.get(`/console/api/spent?${query}`)
    expect([answer.status, ((await answer.json()) as { error: { field: string } }).error.field]).toEqual([400, field])
  })
