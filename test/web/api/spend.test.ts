/**
 * What an account's page shows of its spend: chart, table, file, receipts and the ledger agree to the last picodollar under every question; others' accounts, keys
 * and models are not in it; what is held is said with its key; a statement is the command's, for owners. Rules: pages.md "Spend"; money.md "Runway".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { picos, sumPicos, toExactUsdText } from '../../../src/core/money.ts'
import { DAY_MS, dayAt, dayText } from '../../../src/core/utc.ts'
import { Workplace } from '../../cli/run.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { DAYS, KEYS, MODELS, makeHistory, sumText, TAGS } from '../../support/history.ts'
import { holdRequest, settlement, usd } from '../../support/ledger.ts'
import type { Browser } from '../../support/people.ts'
import { randomFrom, SEED } from '../../support/seed.ts'
import { fileOf, signIn } from '../../support/signed-in.ts'
import { roomIn, until } from '../../support/until.ts'

type Sums = { requests: number; cost_usd: string; waived_usd: string; saved_usd: string; usage: Record<string, number> }
type Spend = {
  is_by_hour: boolean
  places: string[]
  series: { id: string | null; values: string[] }[]
  data: (Sums & { id: string; name: string })[]
  total: Sums
}

let gateway: TestGateway
let ann: Browser
let rob: Browser
let eve: Browser
beforeAll(async () => {
  await roomIn(DAY_MS, 60_000)
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 400)
  ann = await signIn(gateway, 'ann@example.com', 'acc_north', 'owner')
  rob = await signIn(gateway, 'rob@example.com', 'acc_north', 'reader')
  eve = await signIn(gateway, 'eve@example.com', 'acc_south', 'owner')
}, 180_000)
afterAll(() => gateway.stop())

const NORTH = '/api/accounts/acc_north'
const spend = async (query: string): Promise<Spend> => {
  const { status, body } = await rob.get(`${NORTH}/spend?${query}`)
  expect([query, status]).toEqual([query, 200])
  return body as unknown as Spend
}
const usdOf = (amounts: readonly bigint[]): string => toExactUsdText(sumPicos(...amounts.map(picos)))
const column = (csv: string, name: string): string[] => {
  const [head = '', ...lines] = csv
    .replaceAll(/"(?:[^"]|"")*"/g, 'quoted')
    .trim()
    .split('\r\n')
  const at = head.split(',').indexOf(name)
  return lines.map((line) => line.split(',').at(at) ?? '')
}

test('chart, table, file, receipts and the ledger agree to the last picodollar, whatever is asked', async () => {
  const today = dayAt(Date.now())
  const receipts = gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')
  for (const by of ['model', 'key', 'tag'] as const)
    for (const [fromDay, toDay] of [
      [today - DAYS, today],
      [today - 3, today - 1],
      [today - 2, today - 2],
      [today, today],
    ] as const)
      for (const [filter, isOf] of [
        ['', () => true],
        [`&key=${KEYS[1]}`, (receipt: (typeof receipts)[number]) => receipt.keyId === KEYS[1]],
        [`&tag=${TAGS[1]}`, (receipt: (typeof receipts)[number]) => receipt.tag === TAGS[1]],
        [`&model=${MODELS[1]}`, (receipt: (typeof receipts)[number]) => receipt.modelId === MODELS[1]],
        [
          `&key=${KEYS[2]}&model=${MODELS[0]}`,
          ({ keyId, modelId }: (typeof receipts)[number]) => keyId === KEYS[2] && modelId === MODELS[0],
        ],
      ] as const) {
        const query = `by=${by}&from=${dayText(fromDay)}&to=${dayText(toDay)}${filter}`
        const own = receipts.filter((receipt) => dayAt(receipt.settledAt) >= fromDay && dayAt(receipt.settledAt) <= toDay && isOf(receipt))
        const cost = usdOf(own.map(({ costPicos }) => costPicos))
        const shown = await spend(query)
        expect([query, SEED, shown.total.cost_usd]).toEqual([query, SEED, cost])
        expect(shown.total.requests).toBe(own.length)
        expect(shown.total.waived_usd).toBe(usdOf(own.map(({ waivedPicos }) => waivedPicos)))
        expect(shown.total.usage['input_tokens']).toBe(own.reduce((sum, { inputTokens }) => sum + inputTokens, 0))
        expect(sumText(shown.data.map(({ cost_usd }) => cost_usd))).toBe(cost)
        expect(sumText(shown.data.map(({ saved_usd }) => saved_usd))).toBe(shown.total.saved_usd)
        expect(sumText(shown.series.flatMap(({ values }) => values))).toBe(cost)
        expect([shown.is_by_hour, shown.places.length]).toEqual(fromDay === toDay ? [true, 24] : [false, toDay - fromDay + 1])
        for (const { id, values } of shown.series) expect(sumText(values)).toBe(shown.data.find((row) => row.id === id)?.cost_usd ?? '0')
        if (by === 'tag')
          for (const { id, cost_usd } of shown.data)
            expect([id, cost_usd]).toEqual([id, usdOf(own.filter(({ tag }) => (tag ?? '(none)') === id).map(({ costPicos }) => costPicos))])
        const file = await (await fileOf(rob, `acc_north/spend.csv?${query}`)).text()
        expect(sumText(column(file, 'cost_usd_exact'))).toBe(cost)
        expect(sumText(column(file, 'cache_saved_usd_exact'))).toBe(shown.total.saved_usd)
        const requests = await (await fileOf(rob, `acc_north/requests.csv?from=${dayText(fromDay)}&to=${dayText(toDay)}${filter}`)).text()
        expect(sumText(column(requests, 'cost_usd_exact'))).toBe(cost)
      }
  const whole = await spend(`from=${dayText(today - DAYS)}`)
  const { body } = await rob.get(`${NORTH}/summary`)
  expect(sumText([whole.total.cost_usd, String(body['balance_usd'])])).toBe('100')
  expect(gateway.verify()).toEqual([])
})

test('more than seven things are seven and the rest in the chart, and all of them in the table', async () => {
  const now = Date.now()
  for (let n = 0; n < 12; n++) {
    await gateway.ledger.hold(holdRequest(`req_many_${n}`, 'key_south', usd('0.05'), { modelId: `model-${n}`, now }))
    await gateway.ledger.settle(settlement(`req_many_${n}`, { input: 1 + n }, { now }))
  }
  const shown = (await eve.get('/api/accounts/acc_south/spend')).body as unknown as Spend
  expect(shown.data.length).toBeGreaterThanOrEqual(12)
  expect(shown.series.map(({ id }) => id === null)).toEqual([...Array.from({ length: 7 }, () => false), true])
  expect(sumText(shown.series.flatMap(({ values }) => values))).toBe(shown.total.cost_usd)
})

test('names that people typed are no formulas in the files', async () => {
  const file = await (await fileOf(rob, 'acc_north/spend.csv?by=key')).text()
  expect(file).toContain("key_north,'=cmd|1,")
  expect(file).toContain('key_b,"build, ""server""",')
  const requests = await (await fileOf(rob, 'acc_north/requests.csv?key=key_north')).text()
  expect(requests).toContain("key_north,'=cmd|1\r\n")
})

test('what is held is said with its key by name, its model and since when, and is gone with the request', async () => {
  const now = Date.now()
  await gateway.ledger.hold(holdRequest('req_runs', 'key_b', usd('0.25'), { modelId: 'opus', now }))
  await gateway.ledger.hold(holdRequest('req_foreign', 'key_south', usd('1'), { now }))
  const summary = async () => (await rob.get(`${NORTH}/summary`)).body
  // What runs is counted anew twice a second.
  await until(async () => (await summary())['running_requests'] === 1, 'the request is counted')
  expect(await summary()).toMatchObject({
    held_usd: '0.25',
    running_requests: 1,
    holds: [
      {
        request_id: 'req_runs',
        key_id: 'key_b',
        key_name: 'build, "server"',
        model: 'opus',
        held_usd: '0.25',
        started_at: new Date(now).toISOString(),
      },
    ],
  })
  for (const id of ['req_runs', 'req_foreign']) gateway.ledger.void(id)
  await until(async () => (await summary())['running_requests'] === 0, 'no request is counted')
  expect(await summary()).toMatchObject({ held_usd: '0', holds: [] })
})

test('how long the balance lasts is its days at the pace of the last seven', async () => {
  const { body } = await rob.get(`${NORTH}/summary`)
  const [balance, pace] = [Number(body['balance_usd']), Number(body['a_day_usd'])]
  expect(pace).toBeGreaterThan(0)
  expect(body['runway_days']).toBe(Math.floor(balance / pace))
})

test('what changed this week are the seven days that end with yesterday against the seven before, by the models that changed most', async () => {
  const { body } = await rob.get(`${NORTH}/summary`)
  const today = dayAt(Date.now())
  const receipts = gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')
  const costsOf = (fromDay: number, toDay: number, model?: string): bigint =>
    receipts
      .filter(
        ({ settledAt, modelId }) => dayAt(settledAt) >= fromDay && dayAt(settledAt) <= toDay && (model === undefined || modelId === model),
      )
      .reduce((sum, { costPicos }) => sum + costPicos, 0n)
  const [now, before] = [costsOf(today - 7, today - 1), costsOf(today - 14, today - 8)]
  expect(now > 0n).toBe(true)
  expect([body['week_usd'], body['week_before_usd']]).toEqual([usdOf([now]), usdOf([before])])
  const changes = body['week_changes'] as readonly { model: string; usd: string }[]
  const changeOf = (model: string): bigint => costsOf(today - 7, today - 1, model) - costsOf(today - 14, today - 8, model)
  const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount)
  const expected = MODELS.toSorted((a, b) => Number(size(changeOf(b)) - size(changeOf(a)))).filter((model) => changeOf(model) !== 0n)
  expect(changes.map(({ model }) => model)).toEqual(expected.slice(0, 3))
  for (const { model, usd: text } of changes)
    expect([model, text]).toEqual([model, `${changeOf(model) < 0n ? '-' : ''}${usdOf([size(changeOf(model))])}`])
})

test('an owner’s statement is the command’s, byte by byte, whole and of some days; a reader gets none', async () => {
  const place = new Workplace()
  try {
    place.write('tollgate.toml', `[ledger]\npath = ${JSON.stringify(gateway.ledgerPath)}\n`)
    const from = dayText(dayAt(Date.now() - 2 * DAY_MS))
    for (const range of [[], ['--from', from], ['--from', from, '--to', from]]) {
      const query = range.length === 0 ? '' : `?from=${from}${range.length > 2 ? `&to=${from}` : ''}`
      const answer = await fileOf(ann, `acc_north/statement${query}`)
      expect([answer.status, answer.headers.get('content-disposition')]).toEqual([
        200,
        `attachment; filename="statement-${dayText(dayAt(Date.now()))}.jsonl"`,
      ])
      const text = await answer.text()
      place.now = Date.parse((JSON.parse(text.split('\n')[0] ?? '') as { made_at: string }).made_at)
      expect(text).toBe((await place.run('statement', 'acc_north', ...range)).out)
    }
  } finally {
    place.remove()
  }
  expect((await fileOf(rob, 'acc_north/statement')).status).toBe(403)
})

test('another account’s ids are 404 in every address, nobody is 401, and a file is not fetched from another site', async () => {
  const nobody = { ...eve, base: eve.base, cookies: new Map<string, string>() } as unknown as Browser
  for (const path of ['spend', 'spend.csv', 'summary', 'statement', 'requests', 'requests.csv', 'requests/req_00000']) {
    expect([path, (await fileOf(eve, `acc_north/${path}`)).status]).toEqual([path, 404])
    expect([path, (await fileOf(ann, `acc_none/${path}`)).status]).toEqual([path, 404])
    expect([path, (await fileOf(nobody, `acc_north/${path}`)).status]).toEqual([path, 401])
  }
  for (const path of ['spend', 'spend.csv', 'requests', 'requests.csv'])
    expect([path, (await fileOf(ann, `acc_north/${path}?key=key_south`)).status]).toEqual([path, 404])
  for (const path of ['spend.csv', 'statement', 'requests.csv'])
    expect([path, (await fileOf(ann, `acc_north/${path}`, { 'sec-fetch-site': 'cross-site' })).status]).toEqual([path, 403])
  expect((await spend('model=never-asked')).total.requests).toBe(0)
})

test('what is wrong with a question is told with its field', async () => {
  for (const [path, field] of [
    ['spend?from=yesterday', 'from'],
    ['spend?to=2026-02-31', 'to'],
    ['spend?from=2026-02-02&to=2026-02-01', 'from'],
    ['spend?from=2020-01-01', 'from'],
    ['spend?by=hour', 'by'],
    ['spend?key=', 'key'],
    ['spend.csv?from=x', 'from'],
    ['statement?from=2026-13-01', 'from'],
    ['statement?from=2026-02-02&to=2026-02-01', 'from'],
  ]) {
    const answer = await fileOf(ann, `acc_north/${path}`)
    const { error } = (await answer.json()) as { error: { message: string; field?: string } }
    expect([path, answer.status, error.field]).toEqual([path ?? '', 400, field])
    expect(error.message.length).toBeGreaterThan(5)
  }
})
