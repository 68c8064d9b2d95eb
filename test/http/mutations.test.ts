/**
 * Valid requests with random damage: whatever arrives, the answer is one of the contract's, and the money is right afterwards.
 * Rules: contract.md "Errors"; money.md "Verify".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AnsweredGateway, startAnsweredGateway } from '../support/answered-gateway.ts'
import { nativeMessage } from '../support/fake-upstream.ts'
import { MODEL_ID } from '../support/gateway.ts'
import { connectRaw } from '../support/raw-client.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [
    { type: 'text', text: 'Hello' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
}
const SCHEMA = { type: 'object', properties: { a: { type: 'number' } } }
const IMAGE = 'iVBORw0KGgo='
const REQUESTS: Readonly<Record<string, unknown>> = {
  '/v1/messages': {
    model: MODEL_ID,
    max_tokens: 64,
    temperature: 0.5,
    system: [{ type: 'text', text: 'é\u0000\\"', cache_control: { type: 'ephemeral' } }],
    tools: [{ name: 'f', input_schema: SCHEMA }],
    tool_choice: { type: 'tool', name: 'f' },
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: IMAGE } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_0', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0', content: 'ok' }] },
    ],
  },
  '/v1/chat/completions': {
    model: MODEL_ID,
    max_tokens: 64,
    n: 2,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } },
    tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${IMAGE}` } }] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
    ],
  },
  '/v1/responses': {
    model: MODEL_ID,
    max_output_tokens: 64,
    instructions: 'Be brief',
    tools: [
      { type: 'function', name: 'f', parameters: SCHEMA },
      { type: 'custom', name: 'g' },
    ],
    reasoning: { effort: 'low' },
    text: { format: { type: 'json_object' } },
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'ok' },
    ],
  },
}
/** What the contract knows before an upstream is called; a 502 would be an answer of the upstream that we could not use. */
const STATUSES = new Set([200, 400])
const ODD: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  '',
  'x',
  [],
  {},
  [null],
  { type: 'text' },
  [[[]]],
  { __proto__: null, constructor: 1 },
]

let gateway: AnsweredGateway['gateway']
let stop: AnsweredGateway['stop']
let secret: AnsweredGateway['secret']

beforeAll(async () => {
  ;({ gateway, secret, stop } = await startAnsweredGateway({ balanceUsd: '1000', script: () => nativeMessage(MESSAGE) }))
})

afterAll(() => stop())

/** Every place in a document: its parent and the name it has there. */
function placesOf(value: unknown, places: [Record<string, unknown>, string][] = []): [Record<string, unknown>, string][] {
  if (typeof value !== 'object' || value === null) return places
  for (const [name, child] of Object.entries(value)) {
    places.push([value as Record<string, unknown>, name])
    placesOf(child, places)
  }
  return places
}

async function expectContract(path: string, body: string | Uint8Array): Promise<void> {
  const response = await gateway.post(path, secret, body)
  const text = await response.text()
  expect([Buffer.from(body).toString(), STATUSES.has(response.status) || text]).toEqual([Buffer.from(body).toString(), true])
  if (response.status === 400) expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
}

const PATHS = Object.keys(REQUESTS)

test('a value of another kind in any place of a request is 200 or 400, never a bug', async () => {
  for (const path of PATHS) {
    const count = placesOf(REQUESTS[path]).length
    const places = fc.record({ at: fc.nat(count - 1), odd: fc.constantFrom(...ODD), isRemoved: fc.boolean(), stream: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(places, async ({ at, odd, isRemoved, stream }) => {
        const request = structuredClone(REQUESTS[path]) as Record<string, unknown>
        const [parent, name] = placesOf(request)[at] ?? [request, 'model']
        if (isRemoved) delete parent[name]
        else parent[name] = odd
        await expectContract(path, JSON.stringify({ stream, ...request }))
      }),
      { numRuns: 150 },
    )
  }
}, 180_000)

test('bytes that are lost, doubled or changed are 200 or 400, never a bug', async () => {
  const damage = fc.array(fc.record({ at: fc.nat(2_000), kind: fc.constantFrom('drop', 'double', 'flip'), byte: fc.nat(255) }), {
    minLength: 1,
    maxLength: 4,
  })
  for (const path of PATHS) {
    const whole = Buffer.from(JSON.stringify(REQUESTS[path]))
    await fc.assert(
      fc.asyncProperty(damage, async (damages) => {
        let bytes = whole
        for (const { at, kind, byte } of damages) {
          const from = at % bytes.length
          const middle = kind === 'drop' ? Buffer.alloc(0) : kind === 'flip' ? Buffer.from([byte]) : bytes.subarray(from, from + 20)
          bytes = Buffer.concat([bytes.subarray(0, from), middle, bytes.subarray(kind === 'double' ? from : from + 1)])
        }
        await expectContract(path, bytes)
      }),
      { numRuns: 100 },
    )
  }
}, 180_000)

test('heads that are damaged get an answer or a closed connection, and the gateway lives on', async () => {
  const body = JSON.stringify(REQUESTS['/v1/messages'])
  const head = `POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`
  await fc.assert(
    fc.asyncProperty(fc.nat(head.length - 1), fc.nat(255), fc.boolean(), async (at, byte, isDropped) => {
      const damaged = Buffer.concat([Buffer.from(head.slice(0, at)), Buffer.from(isDropped ? [] : [byte]), Buffer.from(head.slice(at + 1))])
      const connection = await connectRaw(gateway.url)
      await connection.send(Buffer.concat([damaged, Buffer.from(body)]))
      // The head may now promise more than will come: then the client gives up.
      connection.halfClose()
      await connection.closed
      const status = /^HTTP\/1\.1 (\d+)/.exec(Buffer.from(connection.received()).toString('latin1'))?.[1]
      expect([at, byte, isDropped, status]).not.toEqual([at, byte, isDropped, '500'])
    }),
    { numRuns: 150 },
  )
  expect((await gateway.post('/v1/messages', secret, body)).status).toBe(200)
}, 180_000)

test('after all of it no hold is left, every receipt adds up, and no bug was logged', async () => {
  await gateway.idle()
  expect(gateway.verify()).toEqual([])
  expect(gateway.logLines().filter((line) => 'alarm' in line)).toEqual([])
})
