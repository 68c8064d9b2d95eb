/** Bodies of a megabyte and more through the whole gateway: answered as small ones are, on a thread that may die, while clients leave and the gateway ends. Rules: requests.md "Heavy bodies". */

import { afterEach, expect, test } from 'bun:test'
import { seesSockets } from '../../src/http/kernel-sockets.ts'
import { startBodyThread } from '../support/body-thread.ts'
import { nativeMessage, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const TEXT = 'x'.repeat(2_000_000)
const BODIES: Readonly<Record<string, unknown>> = {
  '/v1/messages': { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], metadata: { note: TEXT } },
  '/v1/chat/completions': { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], prediction: TEXT },
  '/v1/responses': { model: MODEL_ID, input: 'Hi', prediction: TEXT },
}

let gateway: TestGateway
afterEach(() => gateway.stop())

/** A gateway whose threads for large bodies are seen, and die while `isMortal`. */
async function start(options: TestGatewayOptions = {}) {
  const ended = Promise.withResolvers<void>()
  const threads = { started: 0, isMortal: false, ended: ended.promise }
  gateway = await startTestGateway({
    ...options,
    startBodyThread: () => {
      threads.started++
      const worker = threads.isMortal ? new Worker('data:text/javascript,process.exit(1)') : startBodyThread()
      worker.addEventListener('close', () => ended.resolve())
      return worker
    },
  })
  return { threads, secret: await gateway.createKey({ balanceUsd: '100' }) }
}

const alarms = () => gateway.logLines().flatMap(({ alarm }) => (alarm === undefined ? [] : [alarm]))

test('a large body is answered and charged in every format, its memory is given back, and small ones start no thread', async () => {
  const { threads, secret } = await start()
  const small = await gateway.post('/v1/messages', secret, { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })
  expect([small.status, threads.started]).toEqual([200, 0])
  for (const [path, body] of Object.entries(BODIES)) expect([path, (await gateway.post(path, secret, body)).status]).toEqual([path, 200])
  const refused = await gateway.post('/v1/messages', secret, { model: MODEL_ID, note: TEXT })
  expect([refused.status, (await refused.json()) as unknown]).toEqual([
    400,
    expect.objectContaining({ error: expect.objectContaining({ message: 'messages: Field required' }) }),
  ])
  await gateway.idle()
  expect([threads.started, gateway.bodies.bytes, gateway.receipts().length, alarms()]).toEqual([1, 0, 4, []])
})

/** Without the kernel's help the server takes in more than 5 MB in a turn. */
const TURN_BYTES_MAX = 3 * 1024 * 1024

test.skipIf(!seesSockets())('a body of megabytes comes in little by little, and no turn of the loop is taken up by it', async () => {
  const { secret } = await start()
  const body = Buffer.from(
    JSON.stringify({ model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'x'.repeat(16_000_000) }] }),
  )
  let [before, mostBytes, isOn] = [0, 0, true]
  const look = (): void => {
    mostBytes = Math.max(mostBytes, gateway.bodies.bytes - before)
    before = gateway.bodies.bytes
    if (isOn) setImmediate(look)
  }
  look()
  // From a process of its own: one that is read by the same loop sends no more than is read.
  const send = `const body = await Bun.stdin.bytes(); const answer = await fetch('${gateway.url}/v1/messages', { method: 'POST', headers: { 'x-api-key': '${secret}' }, body }); console.log(answer.status)`
  const client = Bun.spawn([process.execPath, '-e', send], { stdin: body, stdout: 'pipe' })
  const status = await new Response(client.stdout).text()
  isOn = false
  expect([status.trim(), mostBytes > 0]).toEqual(['200', true])
  expect(mostBytes).toBeLessThanOrEqual(TURN_BYTES_MAX)
})

test('a small body that refers to megabytes is read as a large one, in memory that it has leased', async () => {
  const { threads, secret } = await start({ memoryBytes: 160_000_000 })
  const post = (body: object) => gateway.post('/v1/responses', secret, { model: MODEL_ID, ...body })
  const idOf = async (answer: Response) => ((await answer.json()) as { id: string }).id
  const half = 'x'.repeat(600_000)
  const first = await idOf(await post({ input: half }))
  const second = await idOf(await post({ input: half, previous_response_id: first }))
  expect(threads.started).toBe(1)
  const other = gateway.bodies.lease({ id: 'key_other', accountId: 'acc_other' })
  expect(other.growAnswer(39_000_000)).toBeUndefined()
  expect((await post({ input: 'And?', previous_response_id: first })).status).toBe(200)
  const refused = await post({ input: 'And?', previous_response_id: second })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  other.release()
  expect((await post({ input: 'And?', previous_response_id: second })).status).toBe(200)
  await gateway.idle()
  expect([gateway.bodies.bytes, alarms()]).toEqual([0, []])
})

const LARGE = 'é"\\n'.repeat(300_000)
const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [
    { type: 'text', text },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { n: 1 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
})
const FIELDS: Readonly<Record<string, unknown>> = {
  '/v1/messages': { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/chat/completions': { model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  '/v1/responses': { model: MODEL_ID, input: 'Hi' },
}

test('a large answer is made beside the loop and is what a small one is, with its cost; what is no message is the same fault', async () => {
  let text = ''
  let isMessage = true
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(isMessage ? message(text) : { text }) })
  try {
    const { threads, secret } = await start({ upstreams: [upstream.url] })
    const shape = (json: unknown): unknown =>
      JSON.parse(
        JSON.stringify(json)
          .replaceAll(JSON.stringify(LARGE).slice(1, -1), '')
          .replace(/"(id|item_id|created|created_at|completed_at)":("[^"]*"|\d+)/g, '"$1":0'),
      )
    for (const [path, body] of Object.entries(FIELDS)) {
      text = ''
      const small = await gateway.post(path, secret, body)
      text = LARGE
      const large = await gateway.post(path, secret, body)
      const json = (await large.json()) as unknown
      expect(JSON.stringify(json)).toContain(JSON.stringify(LARGE).slice(1, -1))
      expect([path, shape(json), large.headers.get('x-cost-usd')]).toEqual([
        path,
        shape(await small.json()),
        small.headers.get('x-cost-usd'),
      ])
    }
    expect(threads.started).toBeGreaterThan(0)
    isMessage = false
    for (const [path, body] of Object.entries(FIELDS)) expect([path, (await gateway.post(path, secret, body)).status]).toEqual([path, 502])
    await gateway.idle()
    expect([gateway.bodies.bytes, alarms()]).toEqual([0, []])
  } finally {
    await upstream.stop()
  }
})

test('a large answer is remembered with its input', async () => {
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(message(LARGE)) })
  try {
    const { secret } = await start({ upstreams: [upstream.url] })
    const first = await gateway.post('/v1/responses', secret, { model: MODEL_ID, input: 'Remember seven' })
    const { id } = (await first.json()) as { id: string }
    const output = { type: 'function_call_output', call_id: 'toolu_1', output: 'r' }
    const second = await gateway.post('/v1/responses', secret, { model: MODEL_ID, previous_response_id: id, input: [output] })
    expect(second.status).toBe(200)
    const sent = Buffer.from(upstream.requests.at(-1)?.body ?? '').toString()
    expect([sent.includes('Remember seven'), sent.includes(JSON.stringify(LARGE).slice(1, -1))]).toEqual([true, true])
  } finally {
    await upstream.stop()
  }
})

test('an answer to a large body is remembered, and a large body finds it', async () => {
  const { secret } = await start()
  const ask = async (body: object): Promise<{ id: string }> => {
    const answer = await gateway.post('/v1/responses', secret, { model: MODEL_ID, prediction: TEXT, ...body })
    expect(answer.status).toBe(200)
    return (await answer.json()) as { id: string }
  }
  const { id } = await ask({ input: 'Hi' })
  const { id: second } = await ask({ input: 'And?', previous_response_id: id })
  expect(second).not.toBe(id)
  const unknown = await gateway.post('/v1/responses', secret, { model: MODEL_ID, input: 'x', previous_response_id: 'resp_0', note: TEXT })
  expect(unknown.status).toBe(400)
})

test('a thread that dies is one 500 and an alarm: nothing is charged, and the next request is answered', async () => {
  const { threads, secret } = await start()
  threads.isMortal = true
  const died = await gateway.post('/v1/messages', secret, BODIES['/v1/messages'])
  expect(died.status).toBe(500)
  threads.isMortal = false
  expect((await gateway.post('/v1/messages', secret, BODIES['/v1/messages'])).status).toBe(200)
  await gateway.idle()
  expect([gateway.bodies.bytes, gateway.receipts().length, alarms()]).toEqual([0, 1, ['large bodies']])
})

test('clients that leave while their bodies wait give everything back', async () => {
  const { threads, secret } = await start()
  const leaving = new AbortController()
  const asked = Array.from({ length: 4 }, () =>
    gateway.post('/v1/messages', secret, BODIES['/v1/messages'], { signal: leaving.signal }).catch(() => 'left'),
  )
  await until(() => threads.started > 0)
  leaving.abort()
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['left']))
  await until(() => gateway.bodies.bytes === 0, 'the bodies to be let go')
  await gateway.idle()
  expect([gateway.bodies.bytes, alarms()]).toEqual([0, []])
  expect((await gateway.post('/v1/messages', secret, BODIES['/v1/messages'])).status).toBe(200)
})

test('told to end while a body is read, it refuses that one as every new request, and ends the thread', async () => {
  const { threads, secret } = await start()
  const asked = gateway.post('/v1/messages', secret, BODIES['/v1/messages'])
  await until(() => threads.started > 0)
  const drained = gateway.drain()
  expect((await asked).status).toBe(503)
  await drained
  expect(await Promise.race([threads.ended.then(() => 'ended'), Bun.sleep(60_000)])).toBe('ended')
  expect([gateway.receipts(), gateway.verify()]).toEqual([[], []])
})
