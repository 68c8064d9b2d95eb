/**
 * What a door changes of a call reaches the server, over either transport: its target, its fields, its edit of the body, its proof; its reading of an answer is
 * what the gateway gets. A call without a proof is never sent.
 */

import { describe, expect, test } from 'bun:test'
import type { DoorSettings, RequestEdits } from '../../../src/core/door.ts'
import { CallStop } from '../../../src/relay/deadline.ts'
import type { BodyDecoder, Door } from '../../../src/upstream/doors/door.ts'
import { doorOf, isEdited } from '../../../src/upstream/doors/doors.ts'
import { nativeDoor } from '../../../src/upstream/doors/native.ts'
import { fetchUpstream } from '../../../src/upstream/fetch-upstream.ts'
import { socketUpstream } from '../../../src/upstream/socket-upstream.ts'
import type { Fault, Reply, Upstream } from '../../../src/upstream/upstream.ts'
import { chunkFrame } from '../../support/binary-frames.ts'
import { NO_EDITS, never, request, textOf } from '../call.ts'

type Got = { url: string; headers: Headers; body: string }

/** A server that notes what it gets, and answers each with `answer`. */
function serving(answer: () => Response = () => Response.json({ ok: true })) {
  const got: Got[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(asked) {
      const { pathname, search } = new URL(asked.url)
      got.push({ url: `${pathname}${search}`, headers: asked.headers, body: await asked.text() })
      return answer()
    },
  })
  return { got, url: `http://127.0.0.1:${server.port}`, host: `127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

const TRANSPORTS: Readonly<Record<string, (baseUrl: string, door: Door) => Upstream>> = {
  socket: (baseUrl, door) => socketUpstream({ name: 'north', dialect: 'strict', baseUrl, door, connectTimeoutMs: 60_000 }),
  fetch: (baseUrl, door) => fetchUpstream({ name: 'north', dialect: 'strict', baseUrl, door, fetch }),
}

/** Doubles each piece; '!' breaks it. */
class Doubling implements BodyDecoder {
  isBroken = false
  push(piece: Uint8Array): Uint8Array {
    const [good = '', ...more] = new TextDecoder().decode(piece).split('!')
    this.isBroken = more.length > 0
    return new TextEncoder().encode(good + good)
  }
  end(): Uint8Array {
    return new TextEncoder().encode('.')
  }
}

/** What a body tells, in order. */
async function heardOf(called: Promise<Reply | Fault>): Promise<readonly string[]> {
  const reply = await called
  if (reply.kind === 'fault') return [reply.cause]
  const heard: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = (how: string) => () => {
    heard.push(how)
    resolve()
  }
  reply.body.take({ data: (piece) => heard.push(Buffer.from(piece).toString()), end: over('end'), broken: over('broken') })
  await promise
  return heard
}

test('a door that edits requests says so, and no other', () => {
  const byKey = { proof: { by: 'key' } } as const
  const google = { proof: { by: 'metadata', tokenUrl: undefined }, project: 'p', location: 'eu', apiVersion: undefined } as const
  const doors: readonly DoorSettings[] = [
    { kind: 'native' },
    { kind: 'claude-aws', workspace: 'w', ...byKey },
    { kind: 'bedrock', ...byKey },
    { kind: 'bedrock-invoke', apiVersion: undefined, ...byKey },
    { kind: 'vertex', ...google },
    { kind: 'claude-google', ...google },
    { kind: 'foundry', ...byKey },
  ]
  const edited = (edits: RequestEdits): readonly string[] => {
    const named = doors.filter((door) => isEdited({ door, edits })).map(({ kind }) => kind)
    expect(named).toEqual(doors.filter((door) => doorOf(door, edits, { apiKey: undefined }).edit !== undefined).map(({ kind }) => kind))
    return named
  }
  expect(edited(NO_EDITS)).toEqual(['bedrock-invoke', 'vertex'])
  expect(edited({ ...NO_EDITS, dropFields: ['output_format'] })).toEqual(doors.map(({ kind }) => kind))
})

describe.each(Object.keys(TRANSPORTS))('over %s', (transport) => {
  const upstreamAt = TRANSPORTS[transport] ?? expect.unreachable()

  test('Claude Platform on AWS is told the workspace and the key as a token, Foundry the key alone', async () => {
    using server = serving()
    const aws = doorOf({ kind: 'claude-aws', workspace: 'wrkspc_1', proof: { by: 'key' } }, NO_EDITS, { apiKey: 'secret', auth: 'bearer' })
    expect(await textOf(upstreamAt(server.url, aws).call(request({ query: '?beta=true', betas: 'b-1' }), never()))).toBe('{"ok":true}')
    const foundry = doorOf({ kind: 'foundry', proof: { by: 'key' } }, NO_EDITS, { apiKey: 'secret', headers: { 'api-key': 'old' } })
    await textOf(upstreamAt(`${server.url}/anthropic`, foundry).call(request(), never()))
    expect(server.got.map(({ url, body }) => [url, body])).toEqual([
      ['/v1/messages?beta=true', '{"a":1}'],
      ['/anthropic/v1/messages', '{"a":1}'],
    ])
    const field = (name: string) => server.got.map(({ headers }) => headers.get(name))
    expect(field('authorization')).toEqual(['Bearer secret', null])
    expect(field('x-api-key')).toEqual([null, 'secret'])
    expect(field('api-key')).toEqual([null, 'old'])
    expect(field('anthropic-workspace-id')).toEqual(['wrkspc_1', null])
    expect(field('anthropic-version')).toEqual(['2023-06-01', '2023-06-01'])
    expect(field('anthropic-beta')).toEqual(['b-1', null])
  })

  test('a door edits the request, chooses the target and proves what really leaves', async () => {
    using server = serving()
    const door: Door = {
      ...nativeDoor({ apiKey: undefined }),
      target: ({ model }) => `/model/${model.upstreamModel}`,
      edit: (asked) => ({ ...asked, version: '', sent: [Buffer.from('edi'), Buffer.from('ted')] }),
      prove: async ({ host, target, fields, body }) => ({
        proof: `${host} ${target} ${fields['content-type']} ${Buffer.concat(body)}`,
      }),
    }
    const asked = request()
    await textOf(upstreamAt(`${server.url}/base`, door).call(asked, never()))
    const target = `/base/model/${asked.model.upstreamModel}`
    expect(server.got).toMatchObject([{ url: target, body: 'edited' }])
    expect(server.got[0]?.headers.get('proof')).toBe(`${server.host} ${target} application/json edited`)
    expect(server.got[0]?.headers.get('anthropic-version')).toBeNull()
  })

  test('without a proof nothing is sent: our trouble with the key, an alarm, and the next upstream', async () => {
    using server = serving()
    for (const prove of [() => 'no token', () => Promise.resolve('no token')]) {
      let overs = 0
      const upstream = upstreamAt(server.url, { ...nativeDoor({ apiKey: undefined }), prove })
      const fault = await upstream.call(request(), never(), { onOver: () => overs++ })
      expect(fault).toMatchObject({ kind: 'fault', cause: 'no token', isAlarm: true, trouble: { kind: 'account' } })
      expect(fault.kind === 'fault' && fault.refusal.name).toBe('upstreamAccount')
      expect(overs).toBe(1)
    }
    expect(server.got).toEqual([])
  })

  test('a proof whose field holds a line break is not sent', async () => {
    using server = serving()
    const door: Door = { ...nativeDoor({ apiKey: undefined }), prove: () => ({ authorization: 'Bearer a\r\nx: y' }) }
    expect(await textOf(upstreamAt(server.url, door).call(request(), never()))).toStartWith('fault: ')
    expect(server.got).toEqual([])
  })

  test('who leaves while a proof is waited for waits no longer', async () => {
    using server = serving()
    const stop = new CallStop()
    const door: Door = { ...nativeDoor({ apiKey: undefined }), prove: () => new Promise(() => undefined) }
    const called = textOf(upstreamAt(server.url, door).call(request(), stop))
    stop.stop('leaver')
    expect(await called).toBe('fault: aborted')
    expect(server.got).toEqual([])
  })

  test('an answer that the door reads is native from there on; one that it cannot read is broken', async () => {
    let text = 'ab'
    using server = serving(() => new Response(text, { headers: { 'content-type': 'application/x-frames' } }))
    const door: Door = {
      ...nativeDoor({ apiKey: undefined }),
      reading: (_asked, contentType) =>
        contentType === 'application/x-frames' ? { isEventStream: true, decoder: new Doubling() } : undefined,
    }
    const upstream = upstreamAt(server.url, door)
    const reply = await upstream.call(request(), never())
    expect(reply).toMatchObject({ kind: 'reply', isEventStream: true })
    expect(await textOf(reply)).toBe('abab.')
    text = 'a!'
    expect(await textOf(upstream.call(request(), never()))).toBe('broken')
    expect(await heardOf(upstream.call(request(), never()))).toEqual(['aa', 'broken'])
    expect(await textOf(upstreamAt(server.url, nativeDoor({ apiKey: undefined })).call(request(), never()))).toBe('fault: content-type')
  })

  test('a whole answer of InvokeModel is not held back: whoever reads it counts each piece in its account’s share as it comes', async () => {
    const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>()
    const parts = async function* (): AsyncGenerator<string> {
      yield '{"type":"message",'
      await rest
      yield '"content":[]}'
    }
    using server = serving(() => new Response(parts() as unknown as ReadableStream, { headers: { 'content-type': 'application/json' } }))
    const door = doorOf({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined }, NO_EDITS, { apiKey: 'k' })
    const reply = await upstreamAt(server.url, door).call(request(), never())
    if (reply.kind === 'fault') return expect.unreachable()
    expect(reply).toMatchObject({ isEventStream: false, addedPrefix: 'amazon-bedrock-' })
    const pieces: string[] = []
    const { promise: came, resolve: hasCome } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const data = (piece: Uint8Array): void => {
      pieces.push(Buffer.from(piece).toString())
      hasCome()
    }
    reply.body.take({ data, end, broken: end })
    await came
    expect(pieces).toEqual(['{"type":"message",'])
    sendRest()
    await ended
    expect(pieces.join('')).toBe('{"type":"message","content":[]}')
  })

  test('InvokeModel streams come out as the native stream, and a second count that differs is told once, not to the client', async () => {
    const start = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }
    const stop = { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 4, outputTokenCount: 1 } }
    const frames = [start, stop].map((event) => chunkFrame(JSON.stringify(event)))
    using server = serving(() => new Response(Buffer.concat(frames), { headers: { 'content-type': 'application/vnd.amazon.eventstream' } }))
    const told: unknown[] = []
    const door = doorOf({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined }, NO_EDITS, { apiKey: 'k', auth: 'bearer' })
    const upstream = upstreamAt(server.url, door)
    const reply = await upstream.call(request({ body: Buffer.from('{"model":"m","stream":true}'), isStream: true }), never(), {
      onCountDiffers: (difference) => told.push(difference),
    })
    expect(reply).toMatchObject({ kind: 'reply', isEventStream: true })
    expect(await textOf(reply)).toBe(
      `event: message_start\ndata: ${JSON.stringify(start)}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
    )
    expect(told).toEqual([{ counter: 'input', ours: 3, theirs: 4 }])
    expect(server.got).toMatchObject([
      { url: `/model/${request().model.upstreamModel}/invoke-with-response-stream`, body: '{"anthropic_version":"bedrock-2023-05-31"}' },
    ])
  })

  test('tokens are counted by InvokeModel’s own call, without the region of the model', async () => {
    using server = serving(() => Response.json({ inputTokens: 7 }))
    const door = doorOf({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: 'v1' }, NO_EDITS, { apiKey: undefined })
    const model = { ...request().model, upstreamModel: 'us.anthropic.claude-x-v1:0' }
    const asked = request({ path: '/v1/messages/count_tokens', model, body: Buffer.from('{"model":"m","messages":[]}') })
    expect(await textOf(upstreamAt(server.url, door).call(asked, never()))).toBe('{"input_tokens":7}')
    const [got = expect.unreachable()] = server.got
    expect(got.url).toBe('/model/anthropic.claude-x-v1:0/count-tokens')
    const inner = JSON.parse(Buffer.from(JSON.parse(got.body).input.invokeModel.body, 'base64').toString())
    expect(inner).toEqual({ max_tokens: 1, anthropic_version: 'v1', messages: [] })
    // Its own figure stays; one of the same name inside a tool is none.
    for (const [body, maxTokens] of [
      ['{"max_tokens":7,"messages":[]}', 7],
      ['{"messages":[],"tools":[{"input_schema":{"properties":{"max_tokens":{}}}}]}', 1],
      [JSON.stringify({ messages: 'x'.repeat(300_000) }), 1],
    ] as const) {
      await textOf(upstreamAt(server.url, door).call({ ...asked, body: Buffer.from(body) }, never()))
      const sent = JSON.parse(server.got.at(-1)?.body ?? '')
      const text = Buffer.from(sent.input.invokeModel.body, 'base64').toString()
      expect(text.match(/"max_tokens":\d/g)).toHaveLength(1)
      const counted = JSON.parse(text)
      expect(counted).toEqual({ ...JSON.parse(body), max_tokens: maxTokens, anthropic_version: 'v1' })
    }
  })

  test('betas and fields that a door refuses are left out, by its list and by the operator’s', async () => {
    using server = serving()
    const own = { dropBetas: ['mine-*'], renameBetas: { 'a-1': 'b-1' }, dropFields: ['tools[].defer_loading'], hasDefaults: true }
    const body =
      '{"model":"m","output_format":{},"tools":[{"name":"t","defer_loading":true,"cache_control":{"scope":"x","type":"ephemeral"}}]}'
    const asked = request({ body: Buffer.from(body), betas: 'a-1,mine-2,memory-2025-08-18,kept' })
    const settings = { kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: 'v' } as const
    for (const edits of [own, { ...own, hasDefaults: false }])
      await textOf(upstreamAt(server.url, doorOf(settings, edits, { apiKey: 'k' })).call(asked, never()))
    await textOf(upstreamAt(server.url, doorOf({ kind: 'native' }, own, { apiKey: 'k' })).call(asked, never()))
    const [all, ownOnly, native] = server.got.map((got) => ({ betas: got.headers.get('anthropic-beta'), body: JSON.parse(got.body) }))
    const tool = { name: 't', cache_control: { type: 'ephemeral' } }
    expect(all).toEqual({ betas: 'b-1,kept', body: { anthropic_version: 'v', anthropic_beta: ['b-1', 'kept'], tools: [tool] } })
    expect(ownOnly?.betas).toBe('b-1,memory-2025-08-18,kept')
    expect(ownOnly?.body).toMatchObject({ output_format: {}, tools: [{ name: 't', cache_control: { scope: 'x' } }] })
    expect(native?.body.model).toBe('m')
    expect(native?.body.tools).toEqual([{ name: 't', cache_control: { scope: 'x', type: 'ephemeral' } }])
  })

  test('a 400 that names a beta under the door’s own name says the client’s, which is the one to drop; one that was not sent is not said', async () => {
    let message = 'unknown beta: b-1'
    using server = serving(() => Response.json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status: 400 }))
    const own = { dropBetas: ['mine-*'], renameBetas: { 'a-1': 'b-1' }, dropFields: [], hasDefaults: true }
    const upstream = upstreamAt(server.url, doorOf({ kind: 'native' }, own, { apiKey: 'k' }))
    const told: (readonly string[])[] = []
    const ask = (betas: string) => upstream.call(request({ betas }), never(), { onBetasRefused: (names) => void told.push(names) })
    await ask('a-1,mine-2,kept')
    message = 'invalid beta flag'
    await ask('a-1,mine-2,kept')
    await ask('mine-2')
    expect(told).toEqual([['a-1'], ['a-1', 'kept']])
  })

  test('a 400 that names a beta says which; one that names none says all that were sent', async () => {
    let message = 'unknown beta: two-1'
    using server = serving(() => Response.json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status: 400 }))
    const told: (readonly string[])[] = []
    const upstream = upstreamAt(server.url, doorOf({ kind: 'native' }, NO_EDITS, { apiKey: undefined }))
    for (message of ['unknown beta: two-1', 'invalid beta flag', 'max_tokens: too large'])
      await upstream.call(request({ betas: 'one-1,two-1' }), never(), { onBetasRefused: (betas) => void told.push(betas) })
    expect(told).toEqual([['two-1'], ['one-1', 'two-1']])
  })

  test.each([
    [400, 'ServiceQuotaExceededException', 'busy', false],
    [429, 'ModelNotReadyException', 'busy', false],
    [400, 'ExpiredTokenException', 'account', true],
    [403, 'AccessDeniedException', 'account', true],
    [424, 'ModelErrorException', 'broken', false],
    [408, 'ModelTimeoutException', 'broken', false],
    [500, 'InternalServerException', 'broken', false],
    [400, 'ValidationException', undefined, false],
    [400, 'ValidationException: The provided model identifier is invalid.', 'account', true],
  ] as const)('an error of AWS counts by its name: %s, %s', async (status, words, trouble, isAlarm) => {
    const [name = '', message = 'words'] = words.split(': ')
    using server = serving(() =>
      Response.json({ message }, { status, headers: { 'x-amzn-errortype': `${name}:http://x/`, 'x-amzn-requestid': 'r-1' } }),
    )
    const door = doorOf({ kind: 'bedrock', proof: { by: 'key' } }, NO_EDITS, { apiKey: 'k', auth: 'bearer' })
    const fault = await upstreamAt(server.url, door).call(request(), never())
    expect(fault).toMatchObject({ kind: 'fault', isAlarm, requestId: 'r-1' })
    expect(fault.kind === 'fault' && fault.trouble?.kind).toBe(trouble)
  })

  test.each([
    ['Google’s', 403, { error: { code: 403, message: 'Permission denied on model', status: 'PERMISSION_DENIED' } }, 'account'],
    ['Google’s', 429, [{ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED' } }], 'busy'],
    ['Foundry’s', 404, { error: { code: 'DeploymentNotFound', message: 'The API deployment does not exist.' } }, 'broken'],
    ['Foundry’s', 429, { statusCode: 429, message: 'Rate limit is exceeded.' }, 'busy'],
    ['Foundry’s', 400, { error: { code: 'BadRequest', message: 'max_tokens: too large' } }, undefined],
  ] as const)('an error in %s shape counts by the table: %s', async (_whose, status, body, trouble) => {
    using server = serving(() => Response.json(body, { status }))
    const door = doorOf({ kind: 'foundry', proof: { by: 'key' } }, NO_EDITS, { apiKey: 'k' })
    const fault = await upstreamAt(server.url, door).call(request(), never())
    expect(fault.kind === 'fault' && fault.trouble?.kind).toBe(trouble)
    if (status === 400) expect(fault.kind === 'fault' && fault.refusal.message).toBe('max_tokens: too large')
  })
})
