/**
 * What a client of `serve --processes 3` sees does not depend on the process that it reaches: its balance, its limits, and answers that may not be stored. Rules: processes.md "Shared";
 * requests.md "Cost of an answer", "Kept answers".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { type GatewayProcess, type Key, Place } from './process.ts'

setDefaultTimeout(240_000)

const MODEL = 'claude-sonnet-5-5'

let place: Place
let key: Key
let gateway: GatewayProcess
beforeEach(async () => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nrequests_per_minute = 100000\ndashboard_per_minute = 40\n')
  key = await place.createKey()
  gateway = await place.serve({ args: ['--processes', '3'] })
})
afterEach(async () => {
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
  await place.remove()
})

/** On a connection of its own, so that the kernel chooses the process anew. */
const ask = (path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    keepalive: false,
    headers: { authorization: `Bearer ${key.key}`, connection: 'close', 'content-type': 'application/json', ...headers },
  })

test('one client that asks in sequence sees its balance fall with each answer, and the dashboard says the same right after it', async () => {
  const seen: number[] = []
  let left = key.balance_usd
  for (let turn = 0; turn < 15; turn++) {
    const answer = await ask('/v1/messages', {
      model: MODEL,
      max_tokens: 50,
      messages: [{ role: 'user', content: `[sim tokens=40] ${turn}` }],
    })
    await answer.text()
    left -= Number(answer.headers.get('x-cost-usd'))
    seen.push(Number(answer.headers.get('x-balance-usd')))
    expect(seen[turn]).toBeCloseTo(left, 9)
    for (const [path, field] of [
      ['/v1/dashboard/balance', 'balance_usd'],
      ['/v1/dashboard/key', 'available_usd'],
    ] as const)
      expect(((await (await ask(path)).json()) as Record<string, number>)[field]).toBeCloseTo(left, 5)
  }
})

test('what may not be stored is given again, and the limit of an address holds, at whichever process the client asks', async () => {
  const asked = { model: MODEL, input: 'Hi', store: false }
  const first = await (await ask('/v1/responses', asked, { 'idempotency-key': 'one' })).text()
  for (let turn = 0; turn < 15; turn++) {
    const again = await ask('/v1/responses', asked, { 'idempotency-key': 'one' })
    expect([again.status, again.headers.get('idempotency-replayed'), await again.text()]).toEqual([200, 'true', first])
  }
  const beganMs = performance.now()
  const statuses: number[] = []
  for (let turn = 0; turn < 120; turn++) statuses.push((await ask('/v1/dashboard/balance')).status)
  const back = Math.ceil(((performance.now() - beganMs) * 40) / 60_000)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(statuses.filter((status) => status === 200).length).toBeWithin(30, 40 + back + 1)
})
