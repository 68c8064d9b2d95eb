/** `serve --processes 2` as it is: two nodes on one port, one of which is killed, a parent that is killed. What the parent does in which order is in test/cli. Rules: operator.md "Processes". */

import { afterEach, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { isPostgresRunning, postgresTest } from '../support/postgres.ts'
import { createPostgresLedger } from '../support/postgres-connection.ts'
import { until } from '../support/until.ts'
import { KeptConnection } from './kept-connection.ts'
import { type GatewayProcess, Place } from './process.ts'

setDefaultTimeout(120_000)

let place: Place
let key: string
beforeEach(async () => {
  if (!isPostgresRunning) return
  place = new Place(undefined, { LEDGER_URL: await createPostgresLedger() })
  place.write('tollgate.toml', '[operator]\nport = 0\n[ledger]\nurl_env = "LEDGER_URL"\nnode = "web"\nlease_ms = 4000\n')
  key = (await place.createKey('--balance', '100')).key
})
afterEach(() => (isPostgresRunning ? place.remove() : undefined))

type Line = Readonly<{ node?: string; notice?: string; process?: number; pid?: number; operator_url?: string }>
const linesOf = (gateway: GatewayProcess): readonly Line[] =>
  gateway
    .err()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
const pidOf = (gateway: GatewayProcess, index: number): number =>
  linesOf(gateway).findLast(({ notice, process: number }) => notice === 'a process begins' && number === index)?.pid ?? 0
const listening = (gateway: GatewayProcess): readonly Line[] => linesOf(gateway).filter(({ notice }) => notice === 'listening')

const ask = async (gateway: GatewayProcess): Promise<string> => {
  const body = JSON.stringify({
    model: 'claude-sonnet-5-5',
    max_tokens: 50,
    messages: [{ role: 'user', content: '[sim say=Hello there]' }],
  })
  const head = `POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n`
  return (await new KeptConnection(Number(new URL(gateway.url).port)).ask(head + body)).text
}
const states = async (): Promise<readonly string[]> => {
  const { data } = await place.json<{ data: { name: string; state: string }[] }>('nodes', 'list')
  return data.map(({ name, state }) => `${name} ${state}`).sort()
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

postgresTest('two nodes answer on one port, one that is killed begins anew as a node, and all end as one', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  expect(gateway.out()).toBe(`tollgate listening on ${gateway.url}\n`)
  expect(await states()).toEqual(['web/1 running', 'web/2 running'])
  expect(new Set(listening(gateway).map(({ operator_url }) => operator_url)).size).toBe(2)
  for (const { operator_url } of listening(gateway)) expect((await fetch(`${operator_url}/metrics`)).status).toBe(200)
  for (let asked = 0; asked < 20; asked++) expect(await ask(gateway)).toStartWith('HTTP/1.1 200 ')
  const answered = new Set(linesOf(gateway).flatMap((line) => ('request_id' in line && line.node !== undefined ? [line.node] : [])))
  expect([...answered].sort()).toEqual(['web/1', 'web/2'])
  const killed = pidOf(gateway, 2)
  process.kill(killed, 'SIGKILL')
  await until(() => listening(gateway).length === 3, 'it begins anew')
  expect(pidOf(gateway, 2)).not.toBe(killed)
  await until(async () => (await states()).filter((state) => state === 'web/2 running').length === 1, 'it is a node')
  for (let asked = 0; asked < 10; asked++) expect(await ask(gateway)).toStartWith('HTTP/1.1 200 ')
  gateway.signal('SIGHUP')
  await until(() => linesOf(gateway).filter(({ notice }) => notice === 'configuration reloaded').length === 2, 'both have read it')
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  // The lane of the one that was killed may be lost still: nobody is left to take it over.
  expect((await states()).filter((state) => !/ (?:free|lost|silent)$/.test(state))).toEqual([])
  expect(gateway.out()).toBe(`tollgate listening on ${gateway.url}\n`)
})

postgresTest('where the parent is killed its processes drain, and leave neither listener nor lane', async () => {
  const gateway = await place.serve({ args: ['--processes', '2'] })
  const pids = [pidOf(gateway, 1), pidOf(gateway, 2)]
  expect(pids.every(isAlive)).toBeTrue()
  gateway.signal('SIGKILL')
  await until(() => !pids.some(isAlive), 'they are gone')
  expect(await states()).toEqual(['web/1 free', 'web/2 free'])
  expect(linesOf(gateway).filter(({ notice }) => notice === 'draining')).toHaveLength(2)
})

type Endpoint = Readonly<{ process: string; pid: number; name: string; in_flight: number; out: { by: string; reason: string } | null }>
const endpoints = async (): Promise<readonly Endpoint[]> => (await place.json<{ data: Endpoint[] }>('upstreams', 'list')).data
const sockets = (): readonly string[] => readdirSync(dirname(place.ledgerPath)).filter((name) => name.endsWith('.sock'))

postgresTest(
  'an upstream that is taken out is out in all of them, and in the one that dies and begins anew; one that sleeps is named and wakes with it out',
  async () => {
    const gateway = await place.serve({ args: ['--processes', '3'] })
    expect((await endpoints()).map(({ process: name, pid }) => [name, pid]).sort()).toEqual(
      [1, 2, 3].map((index) => [`web/${index}`, pidOf(gateway, index)]),
    )
    const done = { is_out: true, already: false, left: 0, processes: 3, unanswered: [] }
    expect(await place.json('upstreams', 'out', 'simulator', '--reason', 'maintenance')).toMatchObject(done)
    for (let asked = 0; asked < 12; asked++) expect(await ask(gateway)).toStartWith('HTTP/1.1 503 ')
    process.kill(pidOf(gateway, 2), 'SIGKILL')
    await until(() => listening(gateway).length === 4, 'it begins anew')
    const again = await endpoints()
    expect(again.map(({ pid, out }) => [pid, out?.reason]).sort()).toEqual(
      [1, 2, 3].map((index) => [pidOf(gateway, index), 'maintenance']).sort(),
    )
    for (let asked = 0; asked < 12; asked++) expect(await ask(gateway)).toStartWith('HTTP/1.1 503 ')
    const asleep = pidOf(gateway, 3)
    process.kill(asleep, 'SIGSTOP')
    const back = await place.run('upstreams', 'in', 'simulator')
    expect(back).toMatchObject({ code: 1, err: `tollgate: process ${asleep} did not answer: simulator may be out there still\n` })
    expect(back.out).toBe('simulator takes calls again in 2 processes.\n')
    process.kill(asleep, 'SIGCONT')
    await until(async () => (await endpoints()).length === 3, 'it has woken')
    expect((await endpoints()).map(({ out }) => out)).toEqual([null, null, null])
    const { data } = await place.json<{ data: { action: string; target: string }[] }>('audit', 'list')
    expect(data.filter(({ action }) => action === 'setUpstreamOut')).toMatchObject([
      { target: 'simulator', address: 'socket', after: { isOut: false } },
      { target: 'simulator', address: 'socket', after: { isOut: true }, reason: 'maintenance' },
    ] as never)
    expect(sockets()).toHaveLength(3)
    gateway.signal('SIGTERM')
    await gateway.exited
    expect(sockets()).toEqual([])
  },
)

postgresTest('a set that begins beside the old one has out what that one has, and both are reached', async () => {
  const old = await place.serve({ args: ['--processes', '2'] })
  await place.json('upstreams', 'out', 'simulator')
  const next = await place.serve({ args: ['--processes', '2', '--port', new URL(old.url).port] })
  expect((await endpoints()).map(({ out }) => out !== null)).toEqual([true, true, true, true])
  expect(await place.json('upstreams', 'in', 'simulator')).toMatchObject({ already: false, processes: 4 })
  old.signal('SIGTERM')
  await old.exited
  expect((await endpoints()).map(({ pid, out }) => [pid, out]).sort()).toEqual([1, 2].map((index) => [pidOf(next, index), null]).sort())
})

postgresTest('what is held in each of them is listed once and in order, a page after another, from its first moment on', async () => {
  const gateway = await place.serve({ args: ['--processes', '3'] })
  const slow = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content: '[sim slow ms=60000]' }] })
  const head = `POST /v1/messages HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\nContent-Length: ${slow.length}\r\n\r\n`
  const clients = Array.from({ length: 12 }, () => new KeptConnection(Number(new URL(gateway.url).port)))
  const answers = clients.map((client) => client.ask(head + slow))
  type Page = { data: { request_id: string }[]; next_cursor: string | null }
  await until(async () => (await place.json<Page>('holds', 'list')).data.length === 12, 'all are held')
  const now = await endpoints()
  expect(now.filter(({ in_flight }) => in_flight > 0).length).toBeGreaterThan(1)
  expect(now.reduce((sum, { in_flight }) => sum + in_flight, 0)).toBe(12)
  const seen: string[] = []
  for (let cursor: readonly string[] | undefined = []; cursor !== undefined; ) {
    const page: Page = await place.json<Page>('holds', 'list', '--limit', '5', ...cursor)
    seen.push(...page.data.map(({ request_id }) => request_id))
    cursor = page.next_cursor === null ? undefined : ['--cursor', page.next_cursor]
  }
  expect(new Set(seen).size).toBe(12)
  expect(seen).toEqual([...seen].sort())
  const pids = [1, 2, 3].map((index) => pidOf(gateway, index))
  gateway.signal('SIGKILL')
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await Promise.all([gateway.exited, ...answers])
})
