/** Files of traffic in line: of an operator one is made at a time, beside which the page answers, and one that is left, refused or fails makes room for the next. Rules: pages.md "Explore". */

import { expect, test } from 'bun:test'
import type { TrafficRead } from '../../../src/core/history/kept.ts'
import type { Caller } from '../../../src/web/api/caller.ts'
import { ExploreLines } from '../../../src/web/api/explore-lines.ts'
import { askingTraffic } from '../../../src/web/api/traffic.ts'

const FOUND = {
  rows: ['[]', '[]'],
  groups: [],
  others: null,
  total: { requests: 0, refused: 0, p50_ms: null, p95_ms: null, p99_ms: null },
  series: [],
}
const REQUEST = new Request('http://console.example/console/api/explore.csv')
const callerOf = (id: string) => ({ person: { id } }) as Caller

/** `answers`: those of the history in turn, then all that it can. */
function asked(answers: readonly (() => Promise<TrafficRead | undefined>)[] = []) {
  const left = [...answers]
  const lines = new ExploreLines()
  const traffic = askingTraffic(
    {
      history: {
        read: () => Promise.resolve(undefined),
        traffic: () => left.shift()?.() ?? Promise.resolve({ found: FOUND, writers: [] }),
      },
      world: { clock: { now: () => Date.UTC(2026, 10, 27) } } as never,
    },
    lines,
  )
  return {
    lines,
    file: (person: string, measure: 'refusals' | 'first_byte_p50' = 'refusals') => traffic.file(REQUEST, callerOf(person), {}, measure),
    document: (person: string) => traffic.document(callerOf(person), {}, 'refusals'),
  }
}

/** Whether it is answered once all that can go on has gone on. */
async function isAnswered(answer: Promise<unknown>): Promise<boolean> {
  let isThere = false
  answer.then(
    () => {
      isThere = true
    },
    () => undefined,
  )
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  return isThere
}

test('a second file waits until the first is taken, the page and other operators do not', async () => {
  const { file, document } = asked()
  const first = await file('ann')
  const second = file('ann', 'first_byte_p50')
  expect(await isAnswered(second)).toBe(false)
  expect(await document('ann')).toMatchObject({ data: [], lost_after: [] })
  expect((await file('bob')).status).toBe(200)
  expect(await first.text()).toBe('from,model,requests,refused,first_byte_p50_ms,first_byte_p95_ms,first_byte_p99_ms\r\n')
  expect(await isAnswered(second)).toBe(true)
  expect((await second).status).toBe(200)
})

test('a file that is left makes room for the next, also for one of money', async () => {
  const { file, lines } = asked()
  const first = await file('ann')
  const money = lines.file({
    request: REQUEST,
    caller: callerOf('ann'),
    whose: 'person:ann',
    find: () => Promise.resolve({ ofMoney: 1 }),
    fileOf: () => new Response('money'),
  })
  expect(await isAnswered(money)).toBe(false)
  const reader = first.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  expect(await isAnswered(money)).toBe(true)
  expect(await (await money).text()).toBe('money')
})

test('a file that is refused, cannot be read or fails makes room for the next', async () => {
  const { file } = asked([
    () => Promise.resolve({ found: 'tooMuch', writers: [] }),
    () => Promise.resolve(undefined),
    () => Promise.reject(new Error('a bug')),
  ])
  const before = [file('ann'), file('ann'), file('ann').catch(({ message }: Error) => message)]
  const next = file('ann')
  expect(await isAnswered(next)).toBe(true)
  expect((await Promise.all(before)).map((one) => (one instanceof Response ? one.status : one))).toEqual([400, 503, 'a bug'])
  expect((await next).status).toBe(200)
})

test('more files than can wait are refused, and those that wait are still made', async () => {
  const { file } = asked()
  const all = Array.from({ length: 5 }, () => file('ann'))
  expect((await all[4])?.status).toBe(429)
  for (const one of all.slice(0, 4)) expect((await (await one).text()).startsWith('from,model')).toBe(true)
})
