/**
 * The two transports, and binary frames in place of events, through the whole gateway: each is a gateway process of its own before the same upstream, and they
 * take turns (A B C C B A). What counts is the CPU of the
 * gateway's process, by its own metric, which leaves out clients and upstream, since these run in this process.
 * Run: `bun bench/upstream.bench.ts [rounds] [streams]`.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chunkFrame } from '../src/simulator/binary-frames.ts'

const ROUNDS = Number(process.argv[2] ?? 4)
const STREAMS = Number(process.argv[3] ?? 300)
const LANES = 64
const REQUESTS = 4_000
const EVENTS = 150
const EVERY_MS = 20
const WARM_UP_ROUNDS = 1

const MAIN = join(import.meta.dir, '../src/main.ts')
const event = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const USAGE = { input_tokens: 90, output_tokens: 96 }
const text = 'All lights went out one by one. '
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: text.repeat(12) }],
  stop_reason: 'end_turn',
  usage: USAGE,
}
const START =
  event('message_start', { message: { ...MESSAGE, content: [], stop_reason: null } }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const DELTA = event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const END =
  event('content_block_stop', { index: 0 }) +
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE }) +
  event('message_stop', {})

/** The same events as Bedrock's InvokeModel sends them, for a path of that door. */
const framed = (events: string): Buffer => Buffer.concat([...events.matchAll(/^data: (.*)$/gm)].map(([, json = '']) => chunkFrame(json)))
const BINARY = { start: framed(START), delta: framed(DELTA), end: framed(END) }
const BINARY_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ntransfer-encoding: chunked\r\n\r\n'
const binaryChunk = (data: Buffer): Buffer => Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from('\r\n')])

const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`
const whole = JSON.stringify(MESSAGE)
const WHOLE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n${whole}`
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'

type Writer = { write(bytes: string | Uint8Array): number }
type Stream = { socket: Writer; left: number; isBinary: boolean }
const streams = new Set<Stream>()
const upstream = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    data(socket, bytes) {
      const isBinary = bytes.includes('/invoke-with-response-stream')
      if (!isBinary && !bytes.includes('"stream":true')) return void socket.write(WHOLE)
      socket.write(isBinary ? Buffer.concat([Buffer.from(BINARY_HEAD), binaryChunk(BINARY.start)]) : HEAD + chunk(START))
      streams.add({ socket, left: EVENTS, isBinary })
    },
  },
})

/** Sends every stream one event a turn, each in a write of its own. */
const pace = setInterval(() => {
  for (const stream of streams) {
    const { socket, isBinary } = stream
    if (stream.left-- > 0) socket.write(isBinary ? binaryChunk(BINARY.delta) : chunk(DELTA))
    else {
      socket.write(isBinary ? Buffer.concat([binaryChunk(BINARY.end), Buffer.from('0\r\n\r\n')]) : `${chunk(END)}0\r\n\r\n`)
      streams.delete(stream)
    }
  }
}, EVERY_MS)

type Gateway = Readonly<{ url: URL; operatorUrl: string; key: string; stop: () => Promise<void> }>

/** `kind`: the transport, or `binary`, which is a door over sockets. */
async function startGateway(kind: string): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const upstreamTable = `[[upstreams]]\nname = "north"\nbase_url = "http://127.0.0.1:${upstream.port}"\n${kind === 'binary' ? 'kind = "bedrock-invoke"\nregion = "us-east-1"\napi_key_env = "KEY"' : `transport = "${kind}"`}\n`
  const model = '[[models]]\nid = "m"\ninput = "3"\noutput = "15"\ncontext_window = 200000\nmax_output_tokens = 1000\n'
  const limits = '[limits]\nrequests_per_minute = 1000000000\nconcurrent_requests = 1000000\n'
  writeFileSync(join(folder, 'tollgate.toml'), `[operator]\nport = 0\n${limits}${upstreamTable}${model}`)
  const run = (...args: string[]) =>
    Bun.spawn([process.execPath, MAIN, ...args], { cwd: folder, stdout: 'pipe', stderr: 'pipe', env: { ...process.env, KEY: 'key' } })
  const { key } = (await new Response(run('keys', 'create', '--balance', '1000000', '--json').stdout).json()) as { key: string }
  const child = run('serve', '--port', '0')
  const lines = child.stderr.getReader()
  let said = ''
  while (!said.includes('operator_url')) said += new TextDecoder().decode((await lines.read()).value)
  const drain = async (): Promise<void> => {
    while (!(await lines.read()).done);
  }
  const drained = drain()
  const { url, operator_url: operatorUrl } = JSON.parse(said.split('\n').find((line) => line.includes('operator_url')) ?? '')
  const stop = async (): Promise<void> => {
    child.kill()
    await Promise.all([child.exited, drained])
    rmSync(folder, { recursive: true, force: true })
  }
  return { url: new URL(url), operatorUrl, key, stop }
}

/** The CPU of the gateway's process so far, in microseconds. */
async function cpuOf({ operatorUrl }: Gateway): Promise<number> {
  const metrics = await (await fetch(`${operatorUrl}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]) * 1e6
}

/** Sends `body` over a connection of its own, `times` in a row, each after the end of the last answer. */
function ask({ url, key }: Gateway, body: string, times: number, end: string): Promise<void> {
  const request = `POST /v1/chat/completions HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  return new Promise((resolve, reject) => {
    let left = times
    let tail = ''
    const next = (socket: Writer): void => {
      tail = ''
      socket.write(request)
    }
    Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        open: next,
        data(socket, bytes) {
          tail = (tail + bytes.toString('latin1')).slice(-2_000)
          if (!tail.includes(end)) return
          if (!tail.includes(end === '0\r\n\r\n' ? '[DONE]' : 'HTTP/1.1 200')) return void reject(new Error(tail))
          if (--left > 0) return next(socket)
          socket.end()
          resolve()
        },
        close: () => {
          if (left > 0) reject(new Error(`closed after ${tail}`))
        },
      },
    }).catch(reject)
  })
}

const messages = [{ role: 'user', content: 'Which lights went out? '.repeat(14) }]
const loads: Readonly<Record<string, Readonly<{ unit: string; units: number; run: (gateway: Gateway) => Promise<unknown> }>>> = {
  request: {
    unit: 'request',
    units: REQUESTS,
    run: (gateway) =>
      Promise.all(
        Array.from({ length: LANES }, () => ask(gateway, JSON.stringify({ model: 'm', messages }), REQUESTS / LANES, '"usage":{')),
      ),
  },
  event: {
    unit: 'event',
    units: STREAMS * EVENTS,
    run: (gateway) =>
      Promise.all(
        Array.from({ length: STREAMS }, () => ask(gateway, JSON.stringify({ model: 'm', stream: true, messages }), 1, '0\r\n\r\n')),
      ),
  },
}

const gateways = { socket: await startGateway('socket'), fetch: await startGateway('fetch'), binary: await startGateway('binary') }
const ORDER = ['socket', 'fetch', 'binary', 'binary', 'fetch', 'socket'] as const
const spent = new Map<string, number[]>()
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
  for (const [name, { units, run }] of Object.entries(loads)) {
    for (const transport of ORDER) {
      const gateway = gateways[transport]
      const before = await cpuOf(gateway)
      await run(gateway)
      const micros = ((await cpuOf(gateway)) - before) / units
      if (round >= 0) spent.set(`${name} ${transport}`, [...(spent.get(`${name} ${transport}`) ?? []), micros])
    }
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
console.log(`${LANES} connections, ${STREAMS} streams with an event each ${EVERY_MS} ms; median of ${2 * ROUNDS} turns each`)
for (const [name, { unit }] of Object.entries(loads)) {
  const socket = median(spent.get(`${name} socket`) ?? [])
  for (const transport of ['socket', 'fetch', 'binary']) {
    const all = spent.get(`${name} ${transport}`) ?? []
    const range = `${Math.min(...all).toFixed(1)}–${Math.max(...all).toFixed(1)}`
    console.log(
      `${`CPU a ${unit}, ${transport}`.padEnd(24)}${median(all).toFixed(1).padStart(8)} µs (${range})  ${(median(all) / socket).toFixed(2)} of socket`,
    )
  }
}
clearInterval(pace)
await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()))
upstream.stop(true)
