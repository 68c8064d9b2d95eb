/** The largest body, and one byte more: what real clients see of the answer. Rules: contract.md "Limits"; requests.md "Bodies". */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LIMITS } from '../../src/core/limits.ts'
import { discardBody } from '../../src/relay/refuse-after-body.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'

const TOO_LARGE = '{"type":"error","error":{"type":"invalid_request_error","message":"request body exceeds size limit"}}'
const PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/messages/count_tokens']

let gateway: TestGateway
let secret: string
const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
const tooLargeFile = join(folder, 'too-large.json')
const halfFile = join(folder, '20-mb.json')

beforeAll(async () => {
  gateway = await startTestGateway()
  secret = await gateway.createKey()
  writeFileSync(tooLargeFile, Buffer.alloc(LIMITS.bodyBytes + 1, 0x20))
  writeFileSync(halfFile, Buffer.alloc(20_000_000, 0x20))
})

afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A request of exactly `length` bytes: JSON, then spaces. */
function padded(fields: Record<string, unknown>, length: number): Buffer {
  const bytes = Buffer.alloc(length, 0x20)
  bytes.write(JSON.stringify(fields))
  return bytes
}

const REQUESTS: Readonly<Record<string, Record<string, unknown>>> = {
  '/v1/messages': { model: MODEL_ID, max_tokens: 8, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/chat/completions': { model: MODEL_ID, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/responses': { model: MODEL_ID, input: 'Hi' },
}

test('exactly 32 MiB is answered, with its length and in chunks', async () => {
  for (const [path, fields] of Object.entries(REQUESTS)) {
    const body = padded(fields, LIMITS.bodyBytes)
    const sent = path === '/v1/chat/completions' ? new Blob([body]).stream() : body
    const response = await gateway.post(path, secret, '', { body: sent })
    expect([path, response.status]).toEqual([path, 200])
    await response.arrayBuffer()
  }
  await gateway.idle()
  expect(gateway.bodies.bytes).toBe(0)
}, 180_000)

test('one byte more is 413 on every route that reads a body, with its length and in chunks', async () => {
  const body = Buffer.alloc(LIMITS.bodyBytes + 1, 0x20)
  for (const path of PATHS) {
    for (const sent of [body, new Blob([body]).stream()]) {
      const response = await gateway.post(path, secret, '', { body: sent })
      expect([path, response.status, await response.text()]).toEqual([path, 413, TOO_LARGE])
      expect(response.headers.get('x-should-retry')).toBe('false')
    }
  }
  expect(gateway.bodies.bytes).toBe(0)
})

type Refused = Readonly<{ name: string; file: () => string; secret: () => string; path: string; status: number }>

/** Refused for its size, for its key before it is read, and for its path before anyone asks who it is. */
const REFUSED: readonly Refused[] = [
  { name: '413', file: () => tooLargeFile, secret: () => secret, path: '/v1/messages', status: 413 },
  { name: '401', file: () => halfFile, secret: () => 'sk-wrong', path: '/v1/chat/completions', status: 401 },
  { name: '404', file: () => halfFile, secret: () => secret, path: '/v1/v1/messages', status: 404 },
]

const NODE = `
  import { openAsBlob } from 'node:fs'
  const [url, file, secret, mode] = process.argv.slice(1)
  const statuses = []
  for (let i = 0; i < 3; i++) {
    const blob = await openAsBlob(file)
    const init = mode === 'chunked' ? { body: blob.stream(), duplex: 'half' } : { body: await blob.arrayBuffer() }
    const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': secret }, ...init })
    statuses.push(response.status, (await response.json()).type)
  }
  console.log(JSON.stringify(statuses))`

const PYTHON = `
import json, sys, urllib.request, urllib.error
url, file, secret, mode = sys.argv[1:]
statuses = []
for i in range(3):
  data = open(file, 'rb')
  body = iter(lambda: data.read(65536), b'') if mode == 'chunked' else data.read()
  try:
    urllib.request.urlopen(urllib.request.Request(url, body, {'x-api-key': secret, 'content-type': 'application/json'}))
  except urllib.error.HTTPError as error:
    statuses += [error.code, json.load(error)['type']]
print(json.dumps(statuses))`

async function run(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'pipe' })
  const [out, problem] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  await child.exited
  return out === '' ? problem : out.trim()
}

const statusesOf = (status: number): string => JSON.stringify(Array.from({ length: 3 }, () => [status, 'error']).flat())

test('Bun’s fetch receives every refusal of a body that it is still sending', async () => {
  for (const refused of REFUSED) {
    for (let i = 0; i < 3; i++) {
      const response = await gateway.post(refused.path, refused.secret(), '', { body: Bun.file(refused.file()) })
      expect([refused.name, response.status, ((await response.json()) as { type: string }).type]).toEqual([
        refused.name,
        refused.status,
        'error',
      ])
    }
  }
})

test.skipIf(Bun.which('node') === null)(
  'Node’s fetch receives every refusal of a body that it is still sending',
  async () => {
    const answers = REFUSED.map(async ({ name, path, file, secret: key, status }) => {
      for (const mode of ['whole', 'chunked']) {
        const out = await run(['node', '--input-type=module', '-e', NODE, `${gateway.url}${path}`, file(), key(), mode])
        expect([name, mode, out.replaceAll(', ', ',')]).toEqual([name, mode, statusesOf(status)])
      }
    })
    await Promise.all(answers)
  },
  180_000,
)

test.skipIf(Bun.which('python3') === null)(
  'Python’s urllib receives every refusal of a body that it is still sending',
  async () => {
    for (const { name, path, file, secret: key, status } of REFUSED) {
      for (const mode of ['whole', 'chunked']) {
        const out = await run(['python3', '-c', PYTHON, `${gateway.url}${path}`, file(), key(), mode])
        expect([name, mode, out.replaceAll(', ', ',')]).toEqual([name, mode, statusesOf(status)])
      }
    }
  },
  180_000,
)

test.skipIf(Bun.which('curl') === null)(
  'curl receives every refusal, also when it asks whether to continue',
  async () => {
    const curl = (refused: Refused, headers: readonly string[]): Promise<string> =>
      run([
        ...['curl', '-sS', '-w', '%{http_code}', '-o', '/dev/null', '-X', 'POST', '-H', `x-api-key: ${refused.secret()}`],
        ...headers.flatMap((header) => ['-H', header]),
        ...['--data-binary', `@${refused.file()}`, `${gateway.url}${refused.path}`],
      ])
    for (const refused of REFUSED)
      for (const headers of [['Expect:'], ['Expect: 100-continue'], ['Transfer-Encoding: chunked', 'Expect:']])
        for (let i = 0; i < 2; i++)
          expect([refused.name, headers, await curl(refused, headers)]).toEqual([refused.name, headers, String(refused.status)])
  },
  180_000,
)

test('a client that announces too much and waits gets its 413 within seconds, and its connection is closed', async () => {
  const announced = [LIMITS.bodyBytes + 8_000_000, 5_000_000_000, 9_000_000_000_000]
  const answers = announced.map(async (length) => {
    const connection = await connectRaw(gateway.url)
    await connection.send(
      rawRequest('POST', '/v1/messages', { 'x-api-key': secret, Expect: '100-continue', 'Content-Length': String(length) }),
    )
    const response = await connection.response(15_000)
    await connection.closed
    return [length, response.status, response.text]
  })
  expect(await Promise.all(answers)).toEqual(announced.map((length) => [length, 413, TOO_LARGE]))
}, 180_000)

test('an endless body is read up to a bound, answered, and cut off', async () => {
  const piece = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(0x10000, 0x20), Buffer.from('\r\n')])
  const endless: [string, string, number][] = [
    ['/v1/messages', secret, 413],
    ['/v1/messages', 'sk-wrong', 401],
    ['/v1/v1/messages', secret, 404],
  ]
  for (const [path, key, status] of endless) {
    const connection = await connectRaw(gateway.url)
    await connection.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`)
    let sentBytes = 0
    for (; !connection.isClosed() && sentBytes < 1024 ** 3; sentBytes += piece.length) await connection.send(piece)
    expect([path, connection.isClosed(), sentBytes < 1024 ** 3]).toEqual([path, true, true])
    expect((await connection.response()).status).toBe(status)
  }
}, 180_000)

test('a client that pauses for less than the bound is waited for', async () => {
  let isEnded: boolean | undefined
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      isEnded = await discardBody(request, { bytesMax: 1_000, totalMs: 10_000, idleMs: 1_000 })
      return new Response('refused', { status: 413 })
    },
  })
  for (const [length, sent, expected] of [
    [10, 10, true],
    [10, 9, false],
    [2_000, 2_000, false],
  ] as const) {
    const connection = await connectRaw(server.url.href)
    await connection.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`)
    for (const part of ['x'.repeat(sent - 1), 'x']) {
      await connection.send(part)
      await Bun.sleep(50)
    }
    expect((await connection.response()).status).toBe(413)
    expect([length, sent, isEnded]).toEqual([length, sent, expected])
    connection.reset()
  }
  await server.stop(true)
}, 180_000)
