/**
 * What an operator is shown of `serve --processes 3` on a file while requests run: console, API, commands and metrics tell of all relays, and none of them takes the ledger process,
 * which answers no clients, for the gateway. Rules: processes.md "Once"; operator.md "Processes".
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { NowDocument } from '../../src/web/now/document.ts'
import { Browser, PASSWORD } from '../support/people.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, type Key, Place } from './process.ts'

setDefaultTimeout(120_000)

/** Where people think that the console is. */
const CONSOLE = 'http://localhost:9090'

let place: Place
let key: Key
beforeEach(async () => {
  place = new Place()
  place.write('tollgate.toml', `[operator]\nport = 0\npublic_url = "${CONSOLE}"\n[limits]\ndrain_ms = 1000\n`)
  key = await place.createKey()
})
afterEach(() => place.remove())

/** Each on a connection of its own, so that the kernel spreads them over the relays. */
const ask = ({ url }: GatewayProcess, content: string): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    ...{ method: 'POST', keepalive: false },
    headers: { authorization: `Bearer ${key.key}`, connection: 'close' },
    body: JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 50, messages: [{ role: 'user', content }] }),
  })

const operatorUrls = (gateway: GatewayProcess): readonly string[] => [
  ...new Set([...gateway.err().matchAll(/"operator_url":"([^"]+)"/g)].map(([, url = '']) => url)),
]

/** An operator who is signed in on the console, and looks at it on the listener at `url`. */
async function operatorAt(email: string, url: string) {
  const at = ({ url: asked }: Request): string => asked.replace(CONSOLE, url)
  const browser = new Browser({ handle: (request) => fetch(new Request(at(request), request)) }, CONSOLE, 'console', '127.0.0.1')
  const { link } = await place.json<{ link: string }>('people', 'invite', email, '--operator')
  expect((await browser.post('/auth/invite', { token: new URL(link).pathname.split('/').at(-1), password: PASSWORD })).status).toBe(200)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return (path: string): Promise<Response> => fetch(`${url}/console/api${path}`, { headers: { cookie } })
}

/** The first document of a look at the page "Now". */
async function nowOf(look: (path: string) => Promise<Response>): Promise<NowDocument> {
  const reader = (await look('/now')).body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  return JSON.parse(text.slice('data: '.length, text.indexOf('\n\n')))
}

async function json<T>(answer: Promise<Response> | Response): Promise<T> {
  const { status, ok } = await answer
  if (!ok) throw new Error(`it was answered ${status}`)
  return (await (await answer).json()) as T
}

type Upstream = Readonly<{ in_flight: number; last_answer: string | null; max_concurrent: number | null }>
type Row = Readonly<{ pid: number | null; in_flight: number }>

const inFlight = (rows: readonly { in_flight: number }[]): number => rows.reduce((sum, { in_flight }) => sum + in_flight, 0)

test('console, API, commands and metrics show what all relays run and hold, whichever process is asked', async () => {
  const gateway = await place.serve({ args: ['--processes', '3'] })
  await until(() => operatorUrls(gateway).length === 4, 'all listen')
  expect((await ask(gateway, '[sim say=Hello]')).status).toBe(200)
  const running = Array.from({ length: 9 }, () => ask(gateway, '[sim slow ms=600000]').catch(() => undefined))
  await until(async () => (await place.json<{ data: unknown[] }>('holds', 'list')).data.length === 9, 'all are held')
  const { data: rows } = await place.json<{ data: readonly Row[] }>('upstreams', 'list')
  expect([rows.length, rows.filter(({ pid }) => pid === null).length, inFlight(rows)]).toEqual([3, 0, 9])
  const { out } = await place.run('upstreams', 'list')
  for (const { pid } of rows) expect(out).toMatch(new RegExp(`^${pid} `, 'm'))
  for (const at of [0, 2]) {
    const look = await operatorAt(`ops${at}@example.com`, operatorUrls(gateway)[at] ?? '')
    const { requests, upstreams, ledger, process: figures } = await nowOf(look)
    expect([requests.in_flight, ledger.holds, upstreams.map(({ in_flight }) => in_flight)]).toEqual([9, 9, [9]])
    expect(Number(ledger.held_usd)).toBeGreaterThan(0)
    // More than one process of this program can take.
    expect(figures.memory_bytes).toBeGreaterThan(3 * 30_000_000)
    const [upstream] = (await json<{ data: Upstream[] }>(look('/upstreams'))).data
    expect(upstream).toMatchObject({ in_flight: 9, last_answer: expect.any(String) })
    const account = await json<{ holds: unknown[] }>(look(`/accounts/${key.account_id}`))
    expect(account.holds).toHaveLength(9)
  }
  const { token } = await place.json<{ token: string }>('tokens', 'create', 'ops', '--scope', 'read')
  const api = <T>(path: string): Promise<T> =>
    json<T>(fetch(`${operatorUrls(gateway)[1]}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } }))
  expect((await api<{ data: unknown[] }>('/holds')).data).toHaveLength(9)
  expect(inFlight((await api<{ data: Row[] }>('/upstreams')).data)).toBe(9)
  const metrics = await Promise.all(operatorUrls(gateway).map(async (url) => await (await fetch(`${url}/metrics`)).text()))
  const held = metrics.map((text) => Number(/^tollgate_holds (\d+)$/m.exec(text)?.[1]))
  expect([held.length, held.reduce((sum, more) => sum + more, 0)]).toEqual([4, 9])
  expect(metrics.filter((text) => text.includes('\ntollgate_ledger_wal_bytes '))).toHaveLength(1)
  for (const url of operatorUrls(gateway)) expect((await fetch(`${url}/readyz`)).status).toBe(200)
  for (const command of ['check-config', 'doctor']) expect([command, (await place.run(command)).code]).toEqual([command, 0])
  gateway.signal('SIGTERM')
  expect(await gateway.exited).toEqual({ code: 0, signal: null })
  await Promise.all(running)
})
