/**
 * The gateways that are measured beside Tollgate: a bare passthrough (R), nginx (N) where it is installed, Portkey (P) where npm can install it, and any other by
 * its address.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NONE } from '../readings.ts'
import { withChildren } from './cpu.ts'
import type { Target } from './generator.ts'
import { freePort, start, startServer, untilAnswers } from './processes.ts'

export type Gateway = Readonly<{
  /** The gateway's letter or name in the table. */
  name: string
  /** The gateway in words, with its version. */
  what: string
  target: Target
  /** The gateway's processes on this machine; none for a gateway that is only known by an address. */
  pids: () => readonly number[]
  /** Whether the gateway answers in chat, or else with the upstream's own bytes. */
  translates: boolean
  /** Whether the gateway gets fewer streams than the others, or none. */
  isSlow: boolean
  /** Throws if the sums are wrong after `answers` more answers. */
  audit: (answers: number) => Promise<void>
  stop: () => Promise<void>
}>

const PATH = '/v1/chat/completions'
const HOST = '127.0.0.1'
const noSums = (): Promise<void> => Promise.resolve()

const at = (port: number, headers: Target['headers'] = {}): Target => ({ host: HOST, port, path: PATH, headers })

export async function startPassthrough(upstreamPort: number): Promise<Gateway> {
  const { pid, port, stop } = await startServer('passthrough.ts', `http://${HOST}:${upstreamPort}${PATH}`)
  return {
    name: 'R',
    what: `bare Bun ${Bun.version}`,
    target: at(port),
    pids: () => [pid],
    translates: false,
    isSlow: false,
    audit: noSums,
    stop,
  }
}

const nginxConfiguration = (folder: string, port: number, upstreamPort: number): string => `
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log;
events { worker_connections 20000; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  client_max_body_size 64m;
  client_body_buffer_size 64m;
  keepalive_requests 1000000000;
  upstream native { server ${HOST}:${upstreamPort}; keepalive 8192; keepalive_requests 1000000000; }
  server {
    listen ${HOST}:${port} backlog=4096;
    location / { proxy_pass http://native; proxy_http_version 1.1; proxy_set_header connection ""; proxy_buffering off; }
  }
}
`

export async function startNginx(upstreamPort: number, folder: string): Promise<Gateway | { why: string }> {
  const program = Bun.which('nginx')
  if (program === null) return { why: 'nginx is not installed' }
  const port = freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, nginxConfiguration(folder, port, upstreamPort))
  const { pid, stop } = start([program, '-c', file], { cwd: folder, log: join(folder, 'nginx.log') })
  await untilAnswers(`http://${HOST}:${port}/`)
  const version = Bun.spawnSync([program, '-v']).stderr.toString().split('/')[1]?.trim() ?? ''
  return {
    name: 'N',
    what: `nginx ${version}`,
    target: at(port),
    pids: () => withChildren(pid),
    translates: false,
    isSlow: false,
    audit: noSums,
    stop,
  }
}

const PORTKEY = '1.15.2'
/** The versions of Portkey's lockfile: with the newest that its ranges allow, every stream is answered 500. */
const OF_ITS_LOCKFILE = { '@hono/node-server': '1.13.5', '@hono/node-ws': '1.2.0' }

/** Installs Portkey in a folder that is kept between runs. Gives its program, or why npm or node cannot have it. */
function installPortkey(): string | { why: string } {
  const folder = join(tmpdir(), `tollgate-bench-portkey-${PORTKEY}`)
  const program = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  if (Bun.which('node') === null || Bun.which('npm') === null) return { why: 'node and npm are not installed' }
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { '@portkey-ai/gateway': PORTKEY }, overrides: OF_ITS_LOCKFILE }),
  )
  const { exitCode } = Bun.spawnSync(['npm', 'install', '--no-audit', '--no-fund', '--silent'], { cwd: folder })
  return exitCode === 0 && existsSync(program) ? program : { why: `npm could not install @portkey-ai/gateway ${PORTKEY}` }
}

export async function startPortkey(upstreamPort: number, folder: string): Promise<Gateway | { why: string }> {
  const program = installPortkey()
  if (typeof program !== 'string') return program
  const port = freePort()
  const { pid, stop } = start(['node', program, `--port=${port}`, '--headless'], { cwd: folder, log: join(folder, 'portkey.log') })
  await untilAnswers(`http://${HOST}:${port}/`)
  const headers = {
    authorization: 'Bearer sk-bench',
    'x-portkey-provider': 'anthropic',
    'x-portkey-custom-host': `http://${HOST}:${upstreamPort}/v1`,
  }
  return {
    name: 'P',
    what: `Portkey ${PORTKEY}`,
    target: at(port, headers),
    pids: () => withChildren(pid),
    translates: true,
    isSlow: true,
    audit: noSums,
    stop,
  }
}

/** A peer given as `name=http://HOST:PORT/PATH`: it was started by hand with the upstream that the bench prints, and BENCH_PEER_KEY has its bearer. */
export function peerAt(name: string, url: string): Gateway {
  const { hostname, port, pathname } = new URL(url)
  const key = process.env['BENCH_PEER_KEY']
  const target: Target = {
    host: hostname,
    port: Number(port || 80),
    path: pathname === '/' ? PATH : pathname,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  }
  return { name, what: url, target, pids: () => [], translates: true, isSlow: true, audit: noSums, stop: noSums }
}

/** The upstream as if it were a gateway: this shows what generator and upstream can do with nothing between them. */
export const direct = (upstreamPort: number): Gateway => ({
  name: NONE,
  what: 'the upstream without a gateway',
  target: at(upstreamPort),
  pids: () => [],
  translates: false,
  isSlow: false,
  audit: noSums,
  stop: noSums,
})
