/**
 * The two transports, and binary frames in place of events, through the whole gateway: each is a gateway process of its own before the same upstream, and they
 * take turns (A B C C B A). What counts is the CPU of the
 * gateway's process, by its own metric, which leaves out clients and upstream, since these run in this process.
 * `chat-chat` and `native-chat` are clients of chat and of messages before an upstream that speaks chat; the others are clients of chat before a native one.
 * Run: `bun bench/upstream.bench.ts [rounds] [streams] [kinds, such as socket,chat-chat]`.
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
/** The same answer as a server of the chat format gives it. */
const chatUsage = { prompt_tokens: USAGE.input_tokens, completion_tokens: USAGE.output_tokens, total_tokens: 186 }
const CHAT_HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_764_000_000, model: 'm' }
const chatChunk = (delta: object, more: object = {}, finish: string | null = null): string =>
  `data: ${JSON.stringify({ ...CHAT_HEAD, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
const CHAT_FRAMES = {
  start: chatChunk({ role: 'assistant', content: '' }),
  delta: chatChunk({ content: text }),
  end: `${chatChunk({}, {}, 'stop')}data: ${JSON.stringify({ ...CHAT_HEAD, choices: [], usage: chatUsage })}\n\ndata: [DONE]\n\n`,
}
const CHAT_ANSWER = {
  ...CHAT_HEAD,
  choices: [{ index: 0, message: { role: 'assistant', content: text.repeat(12) }, finish_reason: 'stop' }],
  usage: chatUsage,
}

const wholeOf = (json: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`
const WHOLE = wholeOf(JSON.stringify(MESSAGE))
const WHOLE_CHAT = wholeOf(JSON.stringify(CHAT_ANSWER))

/** A stream in pieces that are ready to be sent. */
type Pieces = Readonly<Record<'start' | 'delta' | 'end', Buffer>>
function piecesOf(type: string, { start, delta, end }: Readonly<Record<keyof Pieces, string | Buffer>>): Pieces {
  const chunk = (data: string | Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), Buffer.from(data), Buffer.from('\r\n')])
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`
  return {
    start: Buffer.concat([Buffer.from(head), chunk(start)]),
    delta: chunk(delta),
    end: Buffer.concat([chunk(end), Buffer.from('0\r\n\r\n')]),
  }
}
const NATIVE = piecesOf('text/event-stream', { start: START, delta: DELTA, end: END })
const CHAT = piecesOf('text/event-stream', CHAT_FRAMES)
const BINARY = piecesOf('application/vnd.amazon.eventstream', { start: framed(START), delta: framed(DELTA), end: framed(END) })

type Writer = { write(bytes: string | Uint8Array): number }
type Stream = { socket: Writer; left: number; pieces: Pieces }
const streams = new Set<Stream>()
const upstream = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    data(socket, bytes) {
      const isBinary = bytes.includes('/invoke-with-response-stream')
      const isChat = bytes.includes('/chat/completions')
      if (!isBinary && !bytes.includes('"stream":true')) return void socket.write(isChat ? WHOLE_CHAT : WHOLE)
      const pieces = isBinary ? BINARY : isChat ? CHAT : NATIVE
      socket.write(pieces.start)
      streams.add({ socket, left: EVENTS, pieces })
    },
  },
})

/** Every stream gets an event a turn, each in a write of its own. */
const pace = setInterval(() => {
  for (const stream of streams) {
    const { socket, pieces } = stream
    if (stream.left-- > 0) {
      socket.write(pieces.delta)
      continue
    }
    socket.write(pieces.end)
    streams.delete(stream)
  }
}, EVERY_MS)

/** The settings of the upstream, and the path that its clients ask. */
const ADDRESS = `base_url = "http://127.0.0.1:${upstream.port}`
const OPENAI = `kind = "openai"\n${ADDRESS}/v1"`
const KINDS = {
  socket: { settings: `transport = "socket"\n${ADDRESS}"`, path: '/v1/chat/completions', done: '[DONE]' },
  fetch: { settings: `transport = "fetch"\n${ADDRESS}"`, path: '/v1/chat/completions', done: '[DONE]' },
  binary: {
    settings: `kind = "bedrock-invoke"\nregion = "us-east-1"\napi_key_env = "KEY"\n${ADDRESS}"`,
    path: '/v1/chat/completions',
    done: '[DONE]',
  },
  'chat-chat': { settings: OPENAI, path: '/v1/chat/completions', done: '[DONE]' },
  'native-chat': { settings: OPENAI, path: '/v1/messages', done: 'message_stop' },
} as const
type Kind = keyof typeof KINDS
const isKind = (name: string): name is Kind => name in KINDS
const CHOSEN = (process.argv[4]?.split(',') ?? Object.keys(KINDS)).filter(isKind)

type Gateway = Readonly<{ kind: Kind; url: URL; operatorUrl: string; key: string; stop: () => Promise<void> }>

async function startGateway(kind: Kind): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const upstreamTable = `[[upstreams]]\nname = "north"\n${KINDS[kind].settings}\n`
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
  return { kind, url: new URL(url), operatorUrl, key, stop }
}

/** The CPU of the gateway's process so far, in microseconds. */
async function cpuOf({ operatorUrl }: Gateway): Promise<number> {
  const metrics = await (await fetch(`${operatorUrl}/metrics`)).text()
  return Number(/^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1]) * 1e6
}

/** Sends `body` over a connection of its own, `times` in a row, each after the end of the last answer. */
function ask({ kind, url, key }: Gateway, body: string, times: number, end: string): Promise<void> {
  const request = `POST ${KINDS[kind].path} HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
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
          if (!tail.includes(end === '0\r\n\r\n' ? KINDS[kind].done : 'HTTP/1.1 200')) return void reject(new Error(tail))
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
        Array.from({ length: LANES }, () =>
          ask(gateway, JSON.stringify({ model: 'm', max_tokens: 1000, messages }), REQUESTS / LANES, '"usage":{'),
        ),
      ),
  },
  event: {
    unit: 'event',
    units: STREAMS * EVENTS,
    run: (gateway) =>
      Promise.all(
        Array.from({ length: STREAMS }, () =>
          ask(gateway, JSON.stringify({ model: 'm', max_tokens: 1000, stream: true, messages }), 1, '0\r\n\r\n'),
        ),
      ),
  },
}

const gateways = await Promise.all(CHOSEN.map(startGateway))
const ORDER = [...gateways, ...gateways.toReversed()]
const spent = new Map<string, number[]>()
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
  for (const [name, { units, run }] of Object.entries(loads)) {
    for (const gateway of ORDER) {
      const before = await cpuOf(gateway)
      await run(gateway)
      const micros = ((await cpuOf(gateway)) - before) / units
      const row = `${name} ${gateway.kind}`
      if (round >= 0) spent.set(row, [...(spent.get(row) ?? []), micros])
    }
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
console.log(`${LANES} connections, ${STREAMS} streams with an event each ${EVERY_MS} ms; median of ${2 * ROUNDS} turns each`)
for (const [name, { unit }] of Object.entries(loads)) {
  const first = median(spent.get(`${name} ${CHOSEN[0]}`) ?? [])
  for (const kind of CHOSEN) {
    const all = spent.get(`${name} ${kind}`) ?? []
    const range = `${Math.min(...all).toFixed(1)}–${Math.max(...all).toFixed(1)}`
    console.log(
      `${`CPU a ${unit}, ${kind}`.padEnd(28)}${median(all).toFixed(1).padStart(8)} µs (${range})  ${(median(all) / first).toFixed(2)} of ${CHOSEN[0]}`,
    )
  }
}
clearInterval(pace)
await Promise.all(gateways.map((gateway) => gateway.stop()))
upstream.stop(true)
