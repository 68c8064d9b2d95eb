/**
 * How a gateway reaches its upstreams, as an operator configures it: a proxy sees an upstream's key only where the configuration names it for that upstream, and
 * the process replaces itself by one with another environment only where `fetch` needs that.
 */

import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { BEGUN_WITH } from '../../src/cli/begun-with.ts'
import { type FakeUpstream, nativeMessage, startFakeUpstream } from '../support/fake-upstream.ts'
import { configurationOf, UPSTREAM_ENV } from './configuration.ts'
import { MODEL_ID } from './load.ts'
import { type Environment, type GatewayProcess, Place, PROCESS_TIMEOUT_MS } from './process.ts'

setDefaultTimeout(3 * PROCESS_TIMEOUT_MS)

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-model',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
}

let place: Place
let proxy: FakeUpstream
let other: FakeUpstream
let upstream: FakeUpstream
beforeEach(async () => {
  place = new Place()
  const answering = { answer: () => nativeMessage(MESSAGE) }
  ;[proxy, other, upstream] = await Promise.all([startFakeUpstream(answering), startFakeUpstream(answering), startFakeUpstream(answering)])
})
afterEach(async () => {
  await place.remove()
  for (const server of [proxy, other, upstream]) server.stop()
})

async function statusOf(gateway: GatewayProcess, key: string): Promise<number> {
  const body = JSON.stringify({ model: MODEL_ID, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] })
  return (await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers: { 'x-api-key': key }, body })).status
}

test('the proxy that the configuration names for an upstream is the only one that sees its requests', async () => {
  place.write(
    'tollgate.toml',
    configurationOf({ upstreamUrl: 'http://upstream.invalid/base', transport: 'fetch', upstreamLines: 'proxy_env = "HTTPS_PROXY"' }),
  )
  const env = { ...UPSTREAM_ENV, HTTPS_PROXY: `${proxy.url}/`, HTTP_PROXY: other.url, ALL_PROXY: other.url, NO_PROXY: '*' }
  const gateway = await place.serve({ env })
  const { key } = await place.createKey()
  expect(await statusOf(gateway, key)).toBe(200)
  gateway.signal('SIGHUP')
  await gateway.said('configuration reloaded')
  expect(await statusOf(gateway, key)).toBe(200)
  expect(proxy.requests.map(({ path }) => path)).toEqual(Array(2).fill('http://upstream.invalid/base/v1/messages'))
  expect(other.connectionsOpened()).toBe(0)
  expect(gateway.err()).toContain('HTTP_PROXY, ALL_PROXY ignored')
  expect(place.leaked([proxy.url])).toEqual([])
})

test('without one, fetch goes straight there whatever the environment says', async () => {
  place.write('tollgate.toml', configurationOf({ upstreamUrl: upstream.url, transport: 'fetch' }))
  const env = Object.fromEntries(['http_proxy', 'HTTPS_PROXY', 'all_proxy'].map((name) => [name, other.url]))
  const gateway = await place.serve({ env: { ...UPSTREAM_ENV, ...env } })
  const { key } = await place.createKey()
  expect(await statusOf(gateway, key)).toBe(200)
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/messages'])
  expect(other.connectionsOpened()).toBe(0)
})

const isLinux = existsSync('/proc/self/environ')
const environmentOf = (pid: number): readonly string[] => readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
const [LIMIT, SWEEPS] = ['BUN_CONFIG_MAX_HTTP_REQUESTS=65535', 'MIMALLOC_PURGE_HOLES_MIN_INTERVAL=1000']

test.if(isLinux)('the process is replaced where an upstream is reached by fetch, and only there', async () => {
  const environment = async (transport: 'socket' | 'fetch'): Promise<readonly string[]> => {
    place.write('tollgate.toml', configurationOf({ upstreamUrl: upstream.url, transport }))
    const gateway = await place.serve({ env: UPSTREAM_ENV })
    const now = environmentOf(gateway.pid)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toMatchObject({ code: 0 })
    return now
  }
  expect(await environment('socket')).not.toContain(LIMIT)
  expect(await environment('fetch')).toEqual(expect.arrayContaining([LIMIT, SWEEPS]))
})

test.if(isLinux)('each of several processes begins with seldom sweeps of its memory, unless the operator has said how often', async () => {
  place.write('tollgate.toml', configurationOf({ upstreamUrl: upstream.url }))
  const environments = async (env: Environment): Promise<readonly (readonly string[])[]> => {
    const gateway = await place.serve({ args: ['--processes', '2'], env: { ...UPSTREAM_ENV, ...env } })
    const pids = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'latin1').trim().split(' ').map(Number)
    const all = pids.map(environmentOf)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toMatchObject({ code: 0 })
    return all
  }
  const [begun, own] = [await environments({}), await environments({ MIMALLOC_PURGE_HOLES_MIN_INTERVAL: '250' })]
  expect(begun).toHaveLength(3)
  for (const one of begun) expect(one).toContain(SWEEPS)
  for (const one of own) expect(one).toEqual(expect.arrayContaining(['MIMALLOC_PURGE_HOLES_MIN_INTERVAL=250']))
  for (const one of own) expect(one).not.toContain(SWEEPS)
})

test('the engine knows the variables with which processes begin', async () => {
  const engine = Buffer.from(await Bun.file(process.execPath).arrayBuffer())
  // The allocator's variables are the names of its options, in capitals and behind its own name.
  for (const name of Object.keys(BEGUN_WITH))
    expect([name, engine.includes(name.replace('MIMALLOC_', '').toLowerCase())]).toEqual([name, true])
})
