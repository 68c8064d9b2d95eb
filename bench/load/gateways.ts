/**
 * Who is measured beside Tollgate: a bare passthrough (R), nginx (N) where it is installed, Portkey (P) where npm can have it, and any other by its address.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NONE } from '../readings.ts'
import { withChildren } from './cpu.ts'
import type { Target } from './generator.ts'
import { freePort, start, startServer, untilAnswers } from './processes.ts'

export type Gateway = Readonly<{
  /** Its letter or name in the table. */
  name: string
  /** What it is, in words, with its version. */
  what: string
  target: Target
  /** Its processes on this machine; none for one at an address. */
  pids: () => readonly number[]
  /** Whether its answers are chat's, or the upstream's own bytes. */
  translates: boolean
  /** Gets fewer streams than the others, or none. */
  isSlow: boolean
  /** Finds what is wrong with the sums after `answers` more of them; throws. */
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
/** With the newest that its ranges allow, every stream is a 500. */
const OF_ITS_LOCKFILE = { '@hono/node-server': '1.13.5', '@hono/node-ws': '1.2.0' }

/** Kept between runs. Nothing, and the reason, where npm or node cannot have it. */
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

/** `name=http://HOST:PORT/PATH`, started by hand with the upstream that the bench prints; its bearer in BENCH_PEER_KEY. */
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

/** The upstream itself: what generator and upstream can do with nothing between them. */
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
