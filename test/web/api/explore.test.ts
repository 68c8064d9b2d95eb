/**
 * Explore says the same as its file, the command and the receipts, to the last picodollar, for random questions; an account's people see their own and nothing that only
 * operators may; what is asked wrong is told with its field. Rules: pages.md "Explore"; ledger.md "Hours".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { DIMENSIONS, type Dimension, STEPS, type Step, stepAt, stepText } from '../../../src/core/explore.ts'
import { DAY_MS, dayAt, dayText } from '../../../src/core/utc.ts'
import { HOUR_MS } from '../../../src/core/windows.ts'
import { Workplace } from '../../cli/run.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { DAYS, makeHistory, sumText } from '../../support/history.ts'
import { withTags } from '../../support/many-tags.ts'
import { type Operator, signInOperator } from '../../support/operator.ts'
import type { Browser } from '../../support/people.ts'
import { randomFrom, SEED } from '../../support/seed.ts'
import { fileOf, signIn } from '../../support/signed-in.ts'
import { roomIn } from '../../support/until.ts'

type Sums = { requests: number; cost_usd: string; waived_usd: string; usage: Record<string, number>; upstream_cost_usd?: string }
type Explored = {
  places: string[]
  series: { things: { id: string }[] | null; values: string[] }[]
  data: (Sums & { things: { id: string; name: string }[] })[]
  total: Sums
}

let gateway: TestGateway
let operator: Operator
let rob: Browser
beforeAll(async () => {
  await roomIn(DAY_MS, 60_000)
  gateway = await startTestGateway()
  await makeHistory(gateway, randomFrom(SEED), 250)
  operator = await signInOperator(gateway)
  rob = await signIn(gateway, 'rob@example.com', 'acc_north', 'reader')
}, 180_000)
afterAll(async () => {
  expect(gateway.verify()).toEqual([])
  await gateway.stop()
})

type Receipt = ReturnType<TestGateway['receipts']>[number]
const ID: Readonly<Record<Dimension, (of: Receipt) => string>> = {
  model: ({ modelId }) => modelId,
  key: ({ keyId }) => keyId,
  account: ({ accountId }) => accountId,
  upstream: ({ upstream }) => upstream?.name ?? '(none)',
  format: ({ format }) => format,
  outcome: ({ outcome }) => outcome,
  tag: ({ tag }) => tag ?? '(none)',
}
/** The hour of a receipt's day. */
const hourOf = ({ settledAt }: Receipt): number => Math.floor(settledAt / HOUR_MS)
const costOf = (receipts: readonly Receipt[]): string =>
  sumText(receipts.map(({ costPicos }) => `${costPicos / 1_000_000_000_000n}.${String(costPicos % 1_000_000_000_000n).padStart(12, '0')}`))
const cells = (csv: string): Record<string, string>[] => {
  const [head = '', ...lines] = csv
    .replaceAll(/"(?:[^"]|"")*"/g, 'quoted')
    .trim()
    .split('\r\n')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [head.split(',')[index] ?? '', cell])))
}

/** The command's word for a thing: of a tag it is the tag alone. */
const toldId = (dimension: Dimension, told: ({ id: string } & string) | undefined): string =>
  dimension === 'tag' ? (told ?? '(none)') : (told?.id ?? '')

type Question = Readonly<{
  by: readonly Dimension[]
  step: Step
  fromDay: number
  toDay: number
  only: Partial<Record<Dimension, readonly string[]>>
}>

const textsOf = (only: Question['only']) => Object.fromEntries(Object.entries(only).map(([dimension, ids]) => [dimension, ids.join()]))

function questions(count: number): readonly Question[] {
  const random = randomFrom(SEED)
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
  const today = dayAt(Date.now())
  const receipts = gateway.receipts()
  return Array.from({ length: count }, () => {
    const [first, second] = [one(DIMENSIONS), one(DIMENSIONS)]
    const fromDay = today - Math.floor(random() * (DAYS + 1))
    // Nothing to two things that some requests have, each with one value or several.
    const like = Array.from({ length: 1 + Math.floor(random() * 3) }, () => one(receipts))
    const filtered = [one(DIMENSIONS), one(DIMENSIONS)].slice(0, Math.floor(random() * 3))
    const only = Object.fromEntries(filtered.map((dimension) => [dimension, [...new Set(like.map(ID[dimension]))]]))
    const by = first === second ? [first] : [first, second]
    return { by, step: one(STEPS), fromDay, toDay: fromDay + Math.floor(random() * (today - fromDay + 1)), only }
  })
}

test('the document, the file, the command and the receipts agree for random questions', async () => {
  const place = new Workplace()
  try {
    place.write('tollgate.toml', `[ledger]\npath = ${JSON.stringify(gateway.ledgerPath)}\n`)
    for (const { by, step, fromDay, toDay, only } of questions(14)) {
      const query = new URLSearchParams({ by: by.join(), step, from: dayText(fromDay), to: dayText(toDay), ...textsOf(only) }).toString()
      const own = gateway
        .receipts()
        .filter(({ settledAt }) => dayAt(settledAt) >= fromDay && dayAt(settledAt) <= toDay)
        .filter((receipt) => Object.entries(only).every(([dimension, ids]) => ids.includes(ID[dimension as Dimension](receipt))))
      const groups = [...Map.groupBy(own, (receipt) => by.map((dimension) => ID[dimension](receipt)).join(' '))]
      const shown = (await (await operator.get(`/console/api/explore?${query}`)).json()) as Explored
      expect([query, SEED, shown.total.requests, shown.total.cost_usd]).toEqual([query, SEED, own.length, costOf(own)])
      expect(shown.data.map(({ things, cost_usd }) => `${things.map(({ id }) => id).join(' ')} ${cost_usd}`).sort()).toEqual(
        groups.map(([id, of]) => `${id} ${costOf(of)}`).sort(),
      )
      expect(sumText(shown.series.flatMap(({ values }) => values))).toBe(costOf(own))
      const cellsOfSteps = Map.groupBy(own, (receipt) => {
        const ids = by.map((dimension) => ID[dimension](receipt))
        return [stepText(stepAt(hourOf(receipt), step), step), ...ids].join(' ')
      })
      const expected = [...cellsOfSteps].map(([at, of]) => `${at} ${of.length} ${costOf(of)}`).sort()
      const file = cells(await (await operator.get(`/console/api/explore.csv?${query}`)).text())
      expect(
        file
          .map((row) => `${[row['from'], ...by.map((dimension) => row[dimension])].join(' ')} ${row['requests']} ${row['cost_usd_exact']}`)
          .sort(),
      ).toEqual(expected)
      const filters = Object.entries(only).flatMap(([dimension, ids]) => ids.flatMap((id) => ['--only', `${dimension}=${id}`]))
      const args = ['--by', by.join(), '--step', step, '--from', dayText(fromDay), '--to', dayText(toDay), ...filters]
      const told = await place.json<{ data: Record<string, { id: string } & string>[]; total: Record<string, unknown> }>('usage', ...args)
      // Both by time, and of one step the dearest first.
      const placesOf = (row: Record<string, { id: string } & string>): string =>
        [row['from'], ...by.map((dimension) => toldId(dimension, row[dimension]))].join(' ')
      expect(file.map((row) => [row['from'], ...by.map((dimension) => row[dimension])].join(' '))).toEqual(told.data.map(placesOf))
      expect(
        told.data
          .map(
            (row) =>
              `${[row['from'], ...by.map((dimension) => toldId(dimension, row[dimension]))].join(' ')} ${row['requests']} ${row['cost_usd_exact']}`,
          )
          .sort(),
      ).toEqual(expected)
      expect(told.total['requests']).toBe(own.length)
    }
  } finally {
    place.remove()
  }
})

test('an account’s people see their own account, without accounts, upstreams and what a request cost the operator', async () => {
  const own = gateway.receipts().filter(({ accountId }) => accountId === 'acc_north')
  const query = `by=key,outcome&from=${dayText(dayAt(Date.now() - DAYS * DAY_MS))}`
  const { body } = await rob.get(`/api/accounts/acc_north/explore?${query}`)
  const shown = body as unknown as Explored
  expect([shown.total.requests, shown.total.cost_usd]).toEqual([own.length, costOf(own)])
  expect(JSON.stringify(body)).not.toMatch(/upstream|secret-vendor|key_south|acc_/)
  const file = await (await fileOf(rob, `acc_north/explore.csv?${query}`)).text()
  expect(sumText(cells(file).map((row) => row['cost_usd_exact'] ?? ''))).toBe(costOf(own))
  expect(file).not.toMatch(/upstream|acc_/)
  for (const foreign of ['by=upstream', 'by=model,account', 'upstream=x', 'account=acc_south']) {
    const answer = await rob.get(`/api/accounts/acc_north/explore?${foreign}`)
    expect([foreign, answer.status, (answer.body['error'] as { field: string }).field]).toEqual([foreign, 400, foreign.split('=')[0] ?? ''])
  }
  const ownKey = own[0]?.keyId ?? ''
  for (const [keys, status] of [
    ['key_south', 404],
    [`${ownKey},key_south`, 404],
    ['key_none', 404],
    [ownKey, 200],
  ] as const) {
    expect([keys, (await rob.get(`/api/accounts/acc_north/explore?key=${keys}`)).status]).toEqual([keys, status])
    expect([keys, (await fileOf(rob, `acc_north/explore.csv?key=${keys}`)).status]).toEqual([keys, status])
  }
  expect((await rob.get('/api/accounts/acc_south/explore')).status).toBe(404)
})

test('a customer’s answer has at most 5,000 rows, an operator’s more, and what is beyond is refused with what to ask instead', async () => {
  const query = `by=tag&from=${dayText(dayAt(Date.now() - DAYS * DAY_MS))}`
  await withTags(gateway.ledgerPath, 'key_north', 5_001, async () => {
    const refused = await rob.get(`/api/accounts/acc_north/explore?${query}`)
    expect([refused.status, refused.body['error']]).toMatchObject([
      400,
      { field: 'step', message: expect.stringContaining('shorter time') },
    ])
    expect((await operator.get(`/console/api/explore?${query}&account=acc_north`)).status).toBe(200)
  })
})

test('what is asked wrong is told with its field', async () => {
  for (const [query, field] of [
    ['from=yesterday', 'from'],
    ['to=2026-02-30', 'to'],
    ['from=2026-02-03&to=2026-02-01', 'from'],
    ['from=2020-01-01&to=2022-01-01', 'from'],
    ['by=model,key,tag', 'by'],
    ['by=model,model', 'by'],
    ['by=price', 'by'],
    ['step=minute', 'step'],
    ['step=hour&from=2026-01-01&to=2026-03-01', 'step'],
    ['measure=love', 'measure'],
    [`key=${Array.from({ length: 51 }, (_, n) => n)}`, 'key'],
  ] as const) {
    const answer = await operator.get(`/console/api/explore?${query}`)
    expect([query, answer.status, ((await answer.json()) as { error: { field: string } }).error.field]).toEqual([query, 400, field])
  }
})
