/**
 * `serve --processes 3` on a ledger in a file: relays and the ledger process are killed, stopped and brought back under load, and what a client saw whole is charged once.
 * Rules: processes.md "Relays", "Death"; money.md "Settle", "Crashes".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openDatabase } from '../../db/open.ts'
import { receiptsIn } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, type Key, Place } from './process.ts'
import { expectBooked, isAlive, isHolding, Load, linesOf, pidOf } from './relay-load.ts'

setDefaultTimeout(240_000)

let place: Place
let key: Key
beforeEach(async () => {
  place = new Place()
  place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nrequests_per_minute = 100000\n')
  key = await place.createKey()
})
afterEach(() => place.remove())

test('relays and the ledger process die by turns under load: every end that a client saw is charged once, and nothing stays held', async () => {
  const gateway = await place.serve({ args: ['--processes', '3'] })
  const load = new Load(gateway.url, key.key)
  const running = load.run(24)
  for (let death = 0; death < 12; death++) {
    await Bun.sleep(400)
    const index = death % 3 === 0 ? 0 : 1 + (death % 3)
    const [pid, seen] = [pidOf(gateway, index), load.whole.size]
    process.kill(pid, 'SIGKILL')
    await until(() => pidOf(gateway, index) !== pid, 'it begins anew')
    await until(() => load.whole.size > seen + 10, 'clients are answered again')
  }
  load.isOver = true
  await running
  await until(async () => !(await isHolding(place)), 'nothing is held')
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
  // The operator's socket of a relay that was killed goes when the next one begins, which the last one killed may not have done.
  expect(readdirSync(dirname(place.ledgerPath)).filter((name) => /\.(?:db\.sock|relays|pages|taken)$|-.*\.spill$/.test(name))).toEqual([])
})

test('while the ledger process is away no stream breaks, no request is admitted, and what ends meanwhile is charged once', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const load = new Load(gateway.url, key.key)
  const running = load.run(16)
  try {
    for (let death = 0; death < 4; death++) {
      await until(() => load.whole.size > 10 * (death + 1), 'clients are answered')
      const pid = pidOf(gateway, 0)
      process.kill(pid, 'SIGKILL')
      await until(() => pidOf(gateway, 0) !== pid, 'it begins anew')
      const seen = load.whole.size
      await until(() => load.whole.size > seen + 20, 'clients are answered again')
    }
  } catch (cause) {
    gateway.signal('SIGKILL')
    throw new Error(`${load.whole.size} whole, refused ${load.refused.slice(-5)}, broken ${load.broken}: ${gateway.err().slice(-4_000)}`, {
      cause,
    })
  } finally {
    load.isOver = true
  }
  await running
  expect(load.broken).toBe(0)
  expect(load.refused.filter((status) => status !== 503)).toEqual([])
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
})

const isCutOff = (gateway: GatewayProcess, pid: number): boolean =>
  linesOf(gateway).some(({ fault = '' }) => fault.startsWith(`a relay (process ${pid}) is not heard of`))

test('a relay that stands still for too long is cut off and replaced, and from then on every new connection is answered', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const stopped = pidOf(gateway, 2)
  process.kill(stopped, 'SIGSTOP')
  await until(() => pidOf(gateway, 2) !== stopped, 'another is begun in its place')
  expect([isCutOff(gateway, stopped), isAlive(stopped)]).toEqual([true, false])
  const request = { model: 'claude-sonnet-5-5', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
  const answered = await Promise.all(Array.from({ length: 24 }, async () => (await post(gateway, '/v1/messages', request)).status))
  expect(new Set(answered)).toEqual(new Set([200]))
  expect(await isHolding(place)).toBe(false)
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await place.verify()
})

test('a relay that stood still together with its parent is cut off, its money is free, and it ends by itself when it wakes', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const load = new Load(gateway.url, key.key)
  const running = load.run(8)
  await until(() => load.whole.size > 10, 'clients are answered')
  const stopped = pidOf(gateway, 2)
  gateway.signal('SIGSTOP')
  process.kill(stopped, 'SIGSTOP')
  await until(() => isCutOff(gateway, stopped), 'it is cut off')
  process.kill(stopped, 'SIGCONT')
  await gateway.said('this process ends: it was cut off')
  gateway.signal('SIGCONT')
  await until(() => pidOf(gateway, 2) !== stopped, 'another is begun in its place')
  expect(linesOf(gateway).filter(({ notice = '' }) => notice.includes('is killed'))).toEqual([])
  load.isOver = true
  await running
  await until(async () => !(await isHolding(place)), 'nothing is held')
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  expectBooked(place, load.whole)
  await place.verify()
})

test('where the parent is killed all drain, the ledger process last, and the file is closed', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const pids = [0, 1, 2].map((index) => pidOf(gateway, index))
  const load = new Load(gateway.url, key.key)
  const running = load.run(4)
  await until(() => load.whole.size > 5, 'clients are answered')
  gateway.signal('SIGKILL')
  load.isOver = true
  await running
  await until(() => !pids.some(isAlive), 'they are gone')
  expectBooked(place, load.whole)
  await place.verify()
})

test('where parent and ledger process are killed at once the relays drain, end, and leave on disk what their clients saw', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const relays = [1, 2].map((index) => pidOf(gateway, index))
  const load = new Load(gateway.url, key.key)
  const running = load.run(6)
  await until(() => load.whole.size > 5, 'clients are answered')
  const seen = load.whole.size
  gateway.signal('SIGKILL')
  process.kill(pidOf(gateway, 0), 'SIGKILL')
  await until(() => load.whole.size > seen, 'streams end while nothing holds the ledger')
  load.isOver = true
  await running
  await until(() => !relays.some(isAlive), 'they are gone')
  const again = await place.serve({ args: ['--processes', '2'] })
  again.signal('SIGTERM')
  await again.exited
  expectBooked(place, load.whole)
  await place.verify()
})

/** Each on a connection of its own, so that the kernel spreads them over the relays. */
const post = (gateway: GatewayProcess, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    ...{ method: 'POST', body: JSON.stringify(body), keepalive: false },
    headers: { authorization: `Bearer ${key.key}`, connection: 'close', 'content-type': 'application/json', ...headers },
  })

test('a repetition gets the first answer, and a conversation goes on, whichever relay hears of it', async () => {
  const gateway = await place.serve({ args: ['--processes', '3'] })
  const body = { model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content: '[sim say=Only once]' }] }
  // No more than may join one answer: the kernel may lead them all to one relay.
  const answers = await Promise.all(Array.from({ length: 16 }, () => post(gateway, '/v1/messages', body, { 'idempotency-key': 'one' })))
  expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([])
  expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
  expect(new Set(answers.map(({ headers }) => headers.get('request-id'))).size).toBe(1)
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).toHaveLength(15)
  const other = await post(gateway, '/v1/messages', { ...body, max_tokens: 51 }, { 'idempotency-key': 'one' })
  expect(other.status).toBe(400)
  let previous: string | undefined
  for (let turn = 0; turn < 12; turn++) {
    const asked = {
      model: 'claude-sonnet-5-5',
      input: `turn ${turn}`,
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    }
    const answer = await post(gateway, '/v1/responses', asked)
    expect([turn, answer.status]).toEqual([turn, 200])
    previous = ((await answer.json()) as { id: string }).id
  }
  gateway.signal('SIGTERM')
  await gateway.exited
  const db = openDatabase(place.ledgerPath, 'read')
  if ('problem' in db) throw new Error(db.message)
  expect(receiptsIn(db)).toHaveLength(13)
  db.close()
  await place.verify()
})

test('the requests that a key may run at once are those of all relays together', async () => {
  place.write('tollgate.toml', '[operator]\nport = 0\n[limits]\nconcurrent_requests = 6\nrequests_per_minute = 100000\n')
  const gateway = await place.serve({ args: ['--processes', '3'] })
  // Streams that run until all have their status, however long that takes.
  const slow = {
    model: 'claude-sonnet-5-5',
    max_tokens: 500,
    stream: true,
    messages: [{ role: 'user', content: '[sim tokens=500 speed=1]' }],
  }
  const answers: Response[] = []
  const statuses = (): number[] => answers.map(({ status }) => status)
  const running = (): number => statuses().filter((status) => status === 200).length
  const askAtOnce = async (count: number): Promise<void> => {
    answers.push(...(await Promise.all(Array.from({ length: count }, () => post(gateway, '/v1/messages', slow)))))
  }
  try {
    await askAtOnce(20)
    // A place that a relay has got and does not need is another one's only when it has come back.
    await until(async () => {
      if (running() < 6) await askAtOnce(1)
      return running() >= 6
    }, 'all places are taken')
    await askAtOnce(10)
    expect(running()).toBe(6)
    expect(statuses().filter((status) => status !== 200 && status !== 429)).toEqual([])
  } finally {
    for (const { body } of answers) await body?.cancel()
  }
})

test('the rates of a plan are those of all relays together, and each answer says how they stand', async () => {
  place.write(
    'tollgate.toml',
    '[operator]\nport = 0\n[plans.default]\nmodels = ["*"]\nrequests_per_minute = 7\noutput_tokens_per_minute = 100000\n',
  )
  const gateway = await place.serve({ args: ['--processes', '3'] })
  const quick = { model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content: '[sim say=Hi]' }] }
  const answers = await Promise.all(Array.from({ length: 40 }, () => post(gateway, '/v1/messages', quick)))
  const admitted = answers.filter(({ status }) => status === 200)
  // Nothing but what flows back while the requests come is beyond the seven.
  expect(admitted.length).toBeWithin(7, 9)
  expect(answers.filter(({ status }) => status !== 200 && status !== 429)).toEqual([])
  expect(answers.map(({ headers }) => headers.get('anthropic-ratelimit-requests-limit'))).toEqual(Array(40).fill('7'))
})
