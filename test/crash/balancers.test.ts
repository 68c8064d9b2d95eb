/**
 * Nodes are restarted one after the other behind the balancers that `.deploy` has files for, under load. Rules: operator.md "Shutdown".
 * `BALANCED` sets how many requests at least. A balancer that is not installed is said.
 */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { ROOT } from '../support/made-once.ts'
import { asking } from '../support/nodes.ts'
import { isPostgresRunning } from '../support/postgres.ts'
import { createPostgresLedger } from '../support/postgres-connection.ts'
import { until } from '../support/until.ts'
import { type GatewayProcess, Place } from './process.ts'

const REQUESTS = Number(process.env['BALANCED'] ?? 500)
/** Enough of them for thousands in minutes. */
const LANES = Math.max(6, Math.ceil(REQUESTS / 500))
/** Shorter than what the files are made for, in the same order: looks of the balancer, its resting connections, the delay. */
const DELAY_MS = 3_000
/** As long as a balancer takes to see that a node is back. */
const BACK_MS = 2_000
/** Of a key: by chance all of them come to one of two nodes once in 500 times. */
const STEADY_REQUESTS = 10
const ROUNDS = Number(process.env['NODE_ROUNDS'] ?? 1)
setDefaultTimeout(240_000 + 30 * REQUESTS)

type Balancer = Readonly<{
  file: string
  conf: (text: string, port: number, folder: string) => string
  argv: (conf: string, folder: string) => readonly string[]
}>
const BALANCERS: Readonly<Record<string, Balancer>> = {
  nginx: {
    file: 'nginx.conf',
    conf: (text, port, folder) => {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')
      const http = text.replace('listen 80;', `listen 127.0.0.1:${port};`).replace('keepalive_timeout 4s;', 'keepalive_timeout 1s;')
      return `daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${http}}\n`
    },
    argv: (conf, folder) => ['-p', folder, '-c', conf],
  },
  haproxy: {
    file: 'haproxy.cfg',
    conf: (text, port) => text.replace('bind :80', `bind 127.0.0.1:${port}`),
    argv: (conf) => ['-db', '-f', conf],
  },
  caddy: {
    file: 'Caddyfile',
    conf: (text, port) =>
      `{\n\tadmin off\n}\n${text.replace('# buffer_requests', 'buffer_requests').replace('llm.example.com {', `http://127.0.0.1:${port} {`).replace('keepalive 4s', 'keepalive 1s')}`,
    argv: (conf) => ['run', '--adapter', 'caddyfile', '--config', conf],
  },
}
const installed = Object.entries(BALANCERS).filter(([name]) => Bun.which(name) !== null)
for (const name of Object.keys(BALANCERS)) if (Bun.which(name) === null) console.warn(`${name} is not here: nothing is restarted behind it`)

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const isReady = async (url: string): Promise<boolean> => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true

async function begin(name: string, { file, conf, argv }: Balancer, place: Place, ports: readonly number[]): Promise<string> {
  const folder = join(place.folder, name)
  mkdirSync(folder)
  const port = freePort()
  const [first, second] = ports
  const text = await Bun.file(join(ROOT, '.deploy', file)).text()
  const path = join(folder, file)
  writeFileSync(
    path,
    conf(text, port, folder).replaceAll('10.0.0.11:8080', `127.0.0.1:${first}`).replaceAll('10.0.0.12:8080', `127.0.0.1:${second}`),
  )
  const child = Bun.spawn([Bun.which(name) ?? '', ...argv(path, folder)], {
    stdout: 'ignore',
    stderr: 'pipe',
    env: { HOME: folder, XDG_DATA_HOME: folder, PATH: process.env['PATH'] ?? '' },
  })
  const said = new Response(child.stderr).text()
  ends.push(async () => {
    child.kill()
    await child.exited
  })
  child.exited
    .then(async (code) => code !== 0 && child.signalCode === null && console.error(`${name} ended with ${code}: ${await said}`))
    .catch(() => undefined)
  const url = `http://127.0.0.1:${port}`
  await until(() => isReady(url), `${name} listens`)
  return url
}

/** Asks until told to stop; keeps what was no whole answer. */
async function ask(url: string, keys: readonly string[], isOn: () => boolean, seen: { whole: number; lost: string[] }): Promise<void> {
  for (let index = 0; isOn(); index++) {
    const isStream = index % 3 === 0
    const prompt = isStream ? '[sim tokens=20 speed=40]' : '[sim say=Hello]'
    const body = JSON.stringify({
      model: 'claude-sonnet-5-5',
      max_tokens: 100,
      stream: isStream,
      messages: [{ role: 'user', content: prompt }],
    })
    const headers = { authorization: `Bearer ${keys[index % keys.length]}` }
    const end = isStream ? 'message_stop' : '"end_turn"'
    try {
      const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
      const text = await answer.text()
      if (answer.status === 200 && text.includes(end)) seen.whole++
      else seen.lost.push(`${answer.status} ${text.slice(-300)}`)
    } catch (error) {
      seen.lost.push(String(error))
    }
  }
}

/** One after the other, in either header, before any node leaves. */
async function askSteadily(url: string, place: Place): Promise<void> {
  for (const name of ['authorization', 'x-api-key']) {
    const { key } = await place.createKey('--config', 'node-0.toml')
    const headers = { [name]: name === 'authorization' ? `Bearer ${key}` : key }
    const body = JSON.stringify({ model: 'claude-sonnet-5-5', max_tokens: 9, messages: [{ role: 'user', content: '[sim say=Hello]' }] })
    for (let index = 0; index < STEADY_REQUESTS; index++) {
      const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
      expect(`${answer.status} ${await answer.text()}`).toStartWith('200 ')
    }
  }
}

test.skipIf(!isPostgresRunning || installed.length === 0)('a rolling restart behind nginx, HAProxy or Caddy loses no request', async () => {
  const ledgerUrl = await createPostgresLedger()
  const place = new Place(undefined, { LEDGER_URL: ledgerUrl })
  ends.push(() => place.remove())
  const write = (node: string): void =>
    place.write(
      `${node}.toml`,
      `[server]\ntrusted_proxies = ["127.0.0.1"]\ndrain_delay_ms = ${DELAY_MS}\n[ledger]\nurl_env = "LEDGER_URL"\nnode = "${node}"\n[operator]\nport = 0\n[limits]\nrequests_per_minute = 1000000\nconcurrent_requests = 5000\n`,
    )
  const ports = [freePort(), freePort()]
  const start = (at: number): Promise<GatewayProcess> => {
    write(`node-${at}`)
    return place.serve({ args: ['--config', `node-${at}.toml`, '--port', String(ports[at])] })
  }
  const nodes = [await start(0), await start(1)]
  const keys = await Promise.all(Array.from({ length: 6 }, async () => (await place.createKey('--config', 'node-0.toml')).key))
  let isOn = true
  const seen = new Map(installed.map(([name]) => [name, { whole: 0, lost: [] as string[] }]))
  const loops: Promise<void>[] = []
  const urls = new Map<string, string>()
  for (const [name, balancer] of installed) {
    const url = await begin(name, balancer, place, ports)
    urls.set(name, url)
    await askSteadily(url, place)
  }
  const { ask: askLedger, close } = asking(ledgerUrl)
  const nodesOfKeys = await askLedger<{ nodes: bigint }>('SELECT count(DISTINCT lane) AS nodes FROM receipts GROUP BY key_number').finally(
    close,
  )
  expect(nodesOfKeys.map(({ nodes: count }) => count)).toEqual(Array.from({ length: 2 * installed.length }, () => 1n))
  for (const [name, url] of urls) {
    const fates = seen.get(name)
    if (fates !== undefined) for (let lane = 0; lane < LANES; lane++) loops.push(ask(url, keys, () => isOn, fates))
  }
  const least = (): number => Math.min(...[...seen.values()].map(({ whole }) => whole))
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [at, port] of ports.entries()) {
      await until(() => least() > 0, 'the load runs')
      const leaving = nodes[at]
      leaving?.signal('SIGTERM')
      expect((await leaving?.exited)?.code).toBe(0)
      nodes[at] = await start(at)
      await until(() => isReady(`http://127.0.0.1:${port}`), 'the new node is ready')
      // So that the balancers have seen it, too, before the other one goes.
      await Bun.sleep(BACK_MS)
    }
  }
  await until(() => least() >= REQUESTS, 'enough was asked', 200_000 + 30 * REQUESTS)
  isOn = false
  await Promise.all(loops)
  for (const [name, { whole, lost }] of seen) {
    console.info(`${name}: ${whole} whole answers, ${lost.length} lost`)
    expect([name, ...lost.slice(0, 3)]).toEqual([name])
  }
})
