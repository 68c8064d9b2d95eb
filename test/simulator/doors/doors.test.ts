/**
 * The gateway's doors meet the simulator's: every kind, whole and streamed, over real sockets, with signatures and tokens that are checked; a wrong proof is
 * refused, and an error comes through as what it is.
 */

import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { AwsProof, DoorSettings } from '../../../src/core/door.ts'
import { makeSimulatedDoor } from '../../../src/simulator/doors/door.ts'
import type { SimulatedKind } from '../../../src/simulator/doors/kinds.ts'
import { doorOf } from '../../../src/upstream/doors/doors.ts'
import { socketUpstream } from '../../../src/upstream/socket-upstream.ts'
import { makeTestModel } from '../../support/world.ts'
import { NO_EDITS, never, request, textOf } from '../../upstream/call.ts'

const KEY = { id: 'AKID', secret: 'sim-secret' }
const signed = (secret: string): AwsProof => ({
  by: 'signature',
  region: 'us-east-1',
  service: 'bedrock',
  credentials: { accessKeyId: KEY.id, secretAccessKey: secret, sessionToken: undefined },
})
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const SERVICE_ACCOUNT = JSON.stringify({ client_email: 'a@b', private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) })

type Right = Readonly<{ kind: SimulatedKind; settings: (url: string) => DoorSettings; base?: string; apiKey?: string; isSigned?: boolean }>

const RIGHT: Readonly<Record<string, Right>> = {
  native: { kind: 'native', settings: () => ({ kind: 'native' }), apiKey: 'k' },
  'claude-aws by key': { kind: 'claude-aws', settings: () => ({ kind: 'claude-aws', workspace: 'w', proof: { by: 'key' } }), apiKey: 'k' },
  'claude-aws by signature': {
    kind: 'claude-aws',
    settings: () => ({ kind: 'claude-aws', workspace: 'w', proof: signed(KEY.secret) }),
    isSigned: true,
  },
  'bedrock by signature': {
    kind: 'bedrock',
    settings: () => ({ kind: 'bedrock', proof: signed(KEY.secret) }),
    base: '/anthropic',
    isSigned: true,
  },
  'bedrock-invoke by key': {
    kind: 'bedrock-invoke',
    settings: () => ({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined }),
    apiKey: 'k',
  },
  'bedrock-invoke by signature': {
    kind: 'bedrock-invoke',
    settings: () => ({ kind: 'bedrock-invoke', proof: signed(KEY.secret), apiVersion: undefined }),
    isSigned: true,
  },
  'vertex by a service account': {
    kind: 'vertex',
    settings: (url) => ({
      kind: 'vertex',
      project: 'p',
      location: 'us-east5',
      proof: { by: 'service-account', serviceAccountKey: SERVICE_ACCOUNT, tokenUrl: `${url}/token` },
      apiVersion: undefined,
    }),
  },
  'claude-google by metadata': {
    kind: 'claude-google',
    settings: (url) => ({ kind: 'claude-google', proof: { by: 'metadata', tokenUrl: `${url}/token` } }),
    base: '/v1/projects/p/locations/global/workspaces/w/invoke',
  },
  'foundry by key': { kind: 'foundry', settings: () => ({ kind: 'foundry', proof: { by: 'key' } }), base: '/anthropic', apiKey: 'k' },
  'foundry by Entra': {
    kind: 'foundry',
    settings: (url) => ({
      kind: 'foundry',
      proof: { by: 'client', tenant: 't', clientId: 'c', clientSecret: 's', tokenUrl: `${url}/token`, scope: undefined },
    }),
    base: '/anthropic',
  },
}

function serving({ kind, isSigned = false, apiKey }: Right) {
  const simulator = makeSimulatedDoor({ kind, tokensPerSecond: 0, ...(isSigned && { awsKey: KEY }), ...(apiKey && { apiKey }) })
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout: 0, fetch: simulator })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

function upstreamOf({ settings, base = '', apiKey, kind }: Right, url: string, otherKey = apiKey) {
  const auth = kind === 'native' || kind === 'foundry' ? ('x-api-key' as const) : ('bearer' as const)
  const door = doorOf(settings(url), NO_EDITS, { apiKey: otherKey, auth })
  return socketUpstream({ name: 'a', dialect: 'vendor', baseUrl: `${url}${base}`, door, connectTimeoutMs: 60_000 })
}

function asked(text: string, isStream: boolean, betas = '') {
  const body = { model: 'claude-x:1', max_tokens: 100, messages: [{ role: 'user', content: text }], ...(isStream && { stream: true }) }
  return request({ body: Buffer.from(JSON.stringify(body)), model: makeTestModel({ upstreamModel: 'claude-x:1' }), isStream, betas })
}

describe.each(Object.keys(RIGHT))('%s', (name) => {
  const right = RIGHT[name] ?? expect.unreachable()

  test('whole answers, streams and counts come through, and a body of a megabyte as well', async () => {
    using server = serving(right)
    const upstream = upstreamOf(right, server.url)
    const message = JSON.parse(await textOf(upstream.call(asked('[sim say=Hello]', false), never())))
    expect(message).toMatchObject({ type: 'message', model: 'claude-x:1', content: [{ type: 'text', text: 'Hello' }] })
    const stream = await textOf(upstream.call(asked('[sim say=Hello]', true), never()))
    expect(stream).toStartWith('event: message_start\ndata: {')
    expect(stream).toContain('"model":"claude-x:1"')
    expect(stream).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    const count = { ...asked('Hello', false), path: '/v1/messages/count_tokens' as const }
    expect(JSON.parse(await textOf(upstream.call(count, never())))).toEqual({ input_tokens: expect.any(Number) })
    const large = await textOf(upstream.call(asked(`${'x'.repeat(1024 * 1024)}[sim say=Hello]`, false), never()))
    expect(large).toContain('"text":"Hello"')
  })

  test('an error before the stream and one in it are what they are', async () => {
    using server = serving(right)
    const upstream = upstreamOf(right, server.url)
    const fault = await upstream.call(asked('[sim error=429 retry_after=7]', true), never())
    expect(fault).toMatchObject({ kind: 'fault', cause: 'status 429', trouble: { kind: 'busy', retryAfterMs: 7_000 } })
    const wrong = await upstream.call(asked('[sim error=400 message="max_tokens: too large"]', false), never())
    expect(wrong.kind === 'fault' && [wrong.refusal.name, wrong.refusal.message]).toEqual([
      'upstreamInvalidRequest',
      'max_tokens: too large',
    ])
    const stream = await textOf(upstream.call(asked('[sim error=529 after=2]', true), never()))
    expect(stream).toMatch(/event: error\ndata: .*(?:overloaded_error|serviceUnavailableException)/)
  })

  test('a wrong proof is refused as trouble with our key, with an alarm', async () => {
    using server = serving(right)
    const base = right.settings(server.url)
    const isByKey = right.apiKey !== undefined
    const isSigned = right.isSigned === true
    const other: Right = isSigned ? { ...right, settings: () => ({ ...base, proof: signed('another secret') }) as DoorSettings } : right
    if (!isByKey && !isSigned) {
      // A token that the service never gave: the first is taken and the second service knows nothing of it.
      using second = serving(right)
      const upstream = upstreamOf({ ...right, settings: () => right.settings(second.url) }, server.url)
      expect(await upstream.call(asked('Hello', false), never())).toMatchObject({ isAlarm: true, trouble: { kind: 'account' } })
      return
    }
    const upstream = upstreamOf(other, server.url, 'another key')
    expect(await upstream.call(asked('Hello', false), never())).toMatchObject({ isAlarm: true, trouble: { kind: 'account' } })
  })
})

test('a beta that InvokeModel refuses is a 400 without our list, and no matter with it', async () => {
  const right = RIGHT['bedrock-invoke by signature'] ?? expect.unreachable()
  using server = serving(right)
  const betas = 'memory-2025-08-18,other-1'
  expect(await textOf(upstreamOf(right, server.url).call(asked('[sim say=Hi]', false, betas), never()))).toContain('"text":"Hi"')
  const door = doorOf(right.settings(server.url), { ...NO_EDITS, hasDefaults: false }, { apiKey: undefined })
  const bare = socketUpstream({ name: 'a', dialect: 'vendor', baseUrl: server.url, door, connectTimeoutMs: 60_000 })
  const told: (readonly string[])[] = []
  const fault = await bare.call(asked('Hi', false, betas), never(), { onBetasRefused: (names) => void told.push(names) })
  expect(fault).toMatchObject({ kind: 'fault', cause: 'status 400' })
  expect(told).toEqual([['memory-2025-08-18', 'other-1']])
})
