/**
 * What a door sends is what the vendor's own client for it sends: address, fields and body, compared on a listening server; signatures are made anew by AWS's
 * own signer.
 */

import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { AnthropicAws } from '@anthropic-ai/aws-sdk'
import { AnthropicBedrock, AnthropicBedrockMantle } from '@anthropic-ai/bedrock-sdk'
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk'
import { AnthropicGoogleCloud } from '@anthropic-ai/google-cloud-sdk'
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'
import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'
import type { AwsProof, DoorSettings } from '../../../src/core/door.ts'
import { doorOf } from '../../../src/upstream/doors/doors.ts'
import type { Access } from '../../../src/upstream/native-request.ts'
import { socketUpstream } from '../../../src/upstream/socket-upstream.ts'
import { makeTestModel } from '../../support/world.ts'
import { NO_EDITS, never, request, textOf } from '../call.ts'

type Got = { url: string; headers: Headers; body: string }

function serving(answer: (got: Got) => Response = () => Response.json(MESSAGE)) {
  const got: Got[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(asked) {
      const { pathname, search } = new URL(asked.url)
      const one = { url: `${pathname}${search}`, headers: asked.headers, body: await asked.text() }
      got.push(one)
      return answer(one)
    },
  })
  return { got, url: `http://127.0.0.1:${server.port}`, host: `127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: {},
}
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', sessionToken: 'session/token==' }
const ARN = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc'
const CREDENTIALS = { awsAccessKey: KEYS.accessKeyId, awsSessionToken: KEYS.sessionToken, awsRegion: 'us-east-1' }
const signature = (service: string): AwsProof => ({ by: 'signature', region: 'us-east-1', service, credentials: KEYS })
const METADATA = { by: 'metadata', tokenUrl: undefined } as const
const TOKEN = 'ya29.token'

/** What a client says of itself, and what our own signature has beside the call. */
const OWN =
  /^(?:x-stainless-.*|user-agent|accept|accept-encoding|accept-language|connection|content-length|sec-fetch-mode|cache-control|host|anthropic-dangerous-direct-browser-access)$/
const PROOFS = /^(?:authorization|x-amz-.*)$/

const fieldsOf = ({ headers }: Got, isSigned: boolean): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => !OWN.test(name) && !(isSigned && PROOFS.test(name))).sort())

type Case = Readonly<{
  door: (url: string) => DoorSettings
  access?: Access
  base?: string
  model?: string
  /** The vendor's client, for the server at `url`. */
  client: (url: string) => { messages: unknown; beta: unknown }
  service?: string
  /** Before the vendor's own list of what this door refuses. */
  betas?: string
}>

const CASES: Readonly<Record<string, Case>> = {
  'claude-aws by key': {
    door: () => ({ kind: 'claude-aws', workspace: 'wrkspc_1', proof: { by: 'key' } }),
    access: { apiKey: 'secret', auth: 'bearer' },
    client: (baseURL) => new AnthropicAws({ baseURL, apiKey: 'secret', workspaceId: 'wrkspc_1', awsRegion: 'us-east-1' }),
  },
  'claude-aws by signature': {
    door: () => ({ kind: 'claude-aws', workspace: 'wrkspc_1', proof: signature('aws-external-anthropic') }),
    client: (baseURL) => new AnthropicAws({ baseURL, workspaceId: 'wrkspc_1', ...CREDENTIALS, awsSecretAccessKey: KEYS.secretAccessKey }),
    service: 'aws-external-anthropic',
  },
  'bedrock by key': {
    door: () => ({ kind: 'bedrock', proof: { by: 'key' } }),
    access: { apiKey: 'secret', auth: 'bearer' },
    base: '/anthropic',
    client: (url) => new AnthropicBedrockMantle({ baseURL: `${url}/anthropic`, apiKey: 'secret', awsRegion: 'us-east-1' }),
  },
  'bedrock by signature': {
    door: () => ({ kind: 'bedrock', proof: signature('bedrock-mantle') }),
    base: '/anthropic',
    client: (url) => new AnthropicBedrockMantle({ baseURL: `${url}/anthropic`, ...CREDENTIALS, awsSecretAccessKey: KEYS.secretAccessKey }),
    service: 'bedrock-mantle',
  },
  'bedrock-invoke by key': {
    door: () => ({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined }),
    access: { apiKey: 'secret', auth: 'bearer' },
    client: (baseURL) => new AnthropicBedrock({ baseURL, apiKey: 'secret', awsRegion: 'us-east-1' }),
  },
  'bedrock-invoke by signature, a model with an ARN': {
    door: () => ({ kind: 'bedrock-invoke', proof: signature('bedrock'), apiVersion: undefined }),
    model: ARN,
    client: (baseURL) => new AnthropicBedrock({ baseURL, ...CREDENTIALS, awsSecretKey: KEYS.secretAccessKey }),
    service: 'bedrock',
  },
  vertex: {
    door: (url) => ({
      kind: 'vertex',
      project: 'acme-1',
      location: 'global',
      proof: { ...METADATA, tokenUrl: `${url}/token` },
      apiVersion: undefined,
    }),
    model: 'claude-haiku-4-5@20251001',
    client: (url) =>
      new AnthropicVertex({ baseURL: `${url}/v1`, projectId: 'acme-1', region: 'global', authClient: googleClient() as never }),
  },
  'claude-google': {
    door: (url) => ({ kind: 'claude-google', proof: { ...METADATA, tokenUrl: `${url}/token` } }),
    base: '/v1/projects/acme-1/locations/global/workspaces/w1/invoke',
    client: (url) =>
      new AnthropicGoogleCloud({
        baseURL: `${url}/v1/projects/acme-1/locations/global/workspaces/w1/invoke`,
        bearerTokenProvider: async () => TOKEN,
      }),
  },
  'foundry by key': {
    door: () => ({ kind: 'foundry', proof: { by: 'key' } }),
    access: { apiKey: 'secret' },
    base: '/anthropic',
    client: (url) => new AnthropicFoundry({ baseURL: `${url}/anthropic`, apiKey: 'secret' }),
  },
  'foundry by a token of Entra': {
    door: (url) => ({
      kind: 'foundry',
      proof: { by: 'client', tenant: 't', clientId: 'c', clientSecret: 's', tokenUrl: `${url}/token`, scope: undefined },
    }),
    base: '/anthropic',
    client: (url) => new AnthropicFoundry({ baseURL: `${url}/anthropic`, azureADTokenProvider: async () => TOKEN }),
  },
}

const googleClient = () => ({ getRequestHeaders: async () => new Headers({ authorization: `Bearer ${TOKEN}` }) })

const BODY = { model: '', max_tokens: 10, messages: [{ role: 'user', content: 'Hello “you”' }] }

async function ours(
  { door, access = { apiKey: undefined }, base = '', model = 'claude-x-1' }: Case,
  url: string,
  isStream: boolean,
  version: string,
) {
  const body = { ...BODY, model, ...(isStream ? { stream: true } : {}) }
  const upstream = socketUpstream({
    name: 'a',
    dialect: 'strict',
    baseUrl: `${url}${base}`,
    door: doorOf(door(url), NO_EDITS, access),
    connectTimeoutMs: 60_000,
  })
  const asked = request({
    model: makeTestModel({ upstreamModel: model }),
    body: Buffer.from(JSON.stringify(body)),
    isStream,
    version,
    betas: 'one-2026-01-01,two-2026-01-01',
  })
  await textOf(upstream.call(asked, never()))
}

async function theirs({ client, model = 'claude-x-1' }: Case, url: string, isStream: boolean) {
  const { beta } = client(url) as { beta: { messages: { create(body: object): Promise<AsyncIterable<unknown>> } } }
  const asked = { ...BODY, model, betas: ['one-2026-01-01', 'two-2026-01-01'], ...(isStream ? { stream: true } : {}) }
  await beta.messages.create(asked).catch(() => undefined)
}

for (const isStream of [false, true])
  test.each(Object.keys(CASES))(
    `%s: ${isStream ? 'a stream' : 'a whole answer'} is asked for as the vendor's client does`,
    async (name) => {
      const found = CASES[name] ?? expect.unreachable()
      using server = serving(({ url }) =>
        url === '/token' ? Response.json({ access_token: TOKEN, expires_in: 3_600, token_type: 'Bearer' }) : Response.json(MESSAGE),
      )
      await theirs(found, server.url, isStream)
      const [their = expect.unreachable()] = server.got
      const version = their.headers.get('anthropic-version') ?? String(JSON.parse(their.body)['anthropic_version'])
      server.got.length = 0
      await ours(found, server.url, isStream, version)
      const [our = expect.unreachable()] = server.got.filter(({ url }) => url !== '/token')
      expect(our.url).toBe(their.url)
      expect(fieldsOf(our, found.service !== undefined)).toEqual(fieldsOf(their, found.service !== undefined))
      expect(JSON.parse(our.body)).toEqual(JSON.parse(their.body))
      if (found.service === undefined) return
      for (const one of [our, their]) expect(one.headers.get('authorization')).toBe(await signedAgain(one, server.host, found.service))
      expect(our.headers.get('x-amz-security-token')).toBe(their.headers.get('x-amz-security-token') ?? '')
    },
  )

/** The authorization that AWS's own signer gives a request whose fields and time are these. */
async function signedAgain({ url, headers, body }: Got, host: string, service: string): Promise<string> {
  const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.get('authorization') ?? '') ?? []
  const time = headers.get('x-amz-date') ?? ''
  const date = new Date(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  const { pathname, searchParams } = new URL(url, 'http://x')
  const signed = names.split(';').filter((name) => !PROOFS.test(name))
  const fields = Object.fromEntries(signed.map((name) => [name, name === 'host' ? host : (headers.get(name) ?? '')]))
  const signer = new SignatureV4({ service, region: 'us-east-1', credentials: KEYS, sha256: Sha256 })
  const asked = {
    method: 'POST',
    protocol: 'http:',
    hostname: host,
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: fields,
    body,
  }
  const again = await signer.sign(asked, { signingDate: date })
  return again.headers['authorization'] ?? ''
}

test('a service account signs an assertion that Google’s rules accept, and the token is the call’s', async () => {
  const { jwtVerify } = await import('jose')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    client_email: 'gateway@acme.iam',
    private_key_id: 'k1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
  using server = serving(({ url }) =>
    url === '/token' ? Response.json({ access_token: TOKEN, expires_in: 3_599 }) : Response.json(MESSAGE),
  )
  const proof = { by: 'service-account', serviceAccountKey: JSON.stringify(account), tokenUrl: `${server.url}/token` } as const
  const upstream = socketUpstream({
    name: 'a',
    dialect: 'strict',
    baseUrl: server.url,
    door: doorOf({ kind: 'claude-google', proof }, NO_EDITS, { apiKey: undefined }),
    connectTimeoutMs: 60_000,
  })
  await textOf(upstream.call(request(), never()))
  const [token, call] = server.got
  const form = new URLSearchParams(token?.body)
  expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
  const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', publicKey, { audience: `${server.url}/token` })
  expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' })
  expect(payload).toMatchObject({ iss: 'gateway@acme.iam', scope: 'https://www.googleapis.com/auth/cloud-platform' })
  expect(Number(payload.exp) - Number(payload.iat)).toBe(3_600)
  expect(call?.headers.get('authorization')).toBe(`Bearer ${TOKEN}`)
})
