/** `serve --processes 2` as it is: two nodes on one port, one of which is killed, a parent that is killed. What the parent does in which order is in test/cli. Rules: operator.md "Processes". */

import { afterEach, beforeEach, expect, setDefaultTimeout } from 'bun:test'
import { until } from '../support/nodes.ts'
import { isPostgresRunning, postgresTest } from '../support/postgres.ts'
import { createPostgresLedger } from '../support/postgres-connection.ts'
import { KeptConnection } from './kept-connection.ts'
import { type GatewayProcess, Place } from './process.ts'

setDefaultTimeout(120_000)
const WAIT_MS = 30_000

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
  await until('it begins anew', () => listening(gateway).length === 3, WAIT_MS)
  expect(pidOf(gateway, 2)).not.toBe(killed)
  await until('it is a node', async () => (await states()).filter((state) => state === 'web/2 running').length === 1, WAIT_MS)
  for (let asked = 0; asked < 10; asked++) expect(await ask(gateway)).toStartWith('HTTP/1.1 200 ')
  gateway.signal('SIGHUP')
  await until('both have read it', () => linesOf(gateway).filter(({ notice }) => notice === 'configuration reloaded').length === 2)
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
  await until('they are gone', () => !pids.some(isAlive), WAIT_MS)
  expect(await states()).toEqual(['web/1 free', 'web/2 free'])
  expect(linesOf(gateway).filter(({ notice }) => notice === 'draining')).toHaveLength(2)
})
