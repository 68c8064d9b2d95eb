/** A reload keeps the upstreams that it does not change, with the connections that rest there, and takes those that it changes anew without cutting what runs. */

import { afterAll, expect, test } from 'bun:test'
import { nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, UPSTREAM_API_KEY } from '../support/gateway.ts'

let script: Script = nativeStream(...textFrames('Hello'))
const upstream = await startFakeUpstream({ answer: () => script })
const gateway = await startTestGateway({ upstreams: [upstream.url] })
afterAll(async () => {
  await gateway.stop()
  upstream.stop()
})

test('connections outlive a reload that does not concern them, and a stream one that does', async () => {
  const secret = await gateway.createKey()
  const body = { model: MODEL_ID, max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const ask = async (): Promise<string> => (await gateway.post('/v1/messages', secret, body)).text()
  const configured = (weight: number, connectTimeoutMs = 10_000) => ({
    upstreams: [
      {
        name: 'upstream-0',
        door: { kind: 'native' as const },
        edits: { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true },
        secretHeaders: {},
        baseUrl: upstream.url,
        apiKey: UPSTREAM_API_KEY,
        auth: 'x-api-key' as const,
        headers: {},
        hidesErrorText: false,
        countTokens: 'yes' as const,
        echo: 'alarm' as const,
        forwardsVersions: true,
        forwardsBetas: true,
        weight,
        priority: 0,
        maxConcurrent: 10_000,
        connectTimeoutMs,
        transport: 'socket' as const,
        dialect: 'strict' as const,
        proxyUrl: undefined,
      },
    ],
  })
  gateway.reload(configured(1))
  for (const _ of [1, 2]) expect(await ask()).toContain('message_stop')
  const opened = upstream.connectionsOpened()
  gateway.reload(configured(3))
  expect(await ask()).toContain('message_stop')
  expect(upstream.connectionsOpened()).toBe(opened)
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const [start = '', ...rest] = textFrames('Hello')
  script = nativeStream(start, { when: gate }, ...rest)
  const running = ask()
  await upstream.arrival(upstream.requests.length)
  script = nativeStream(...textFrames('Hello'))
  gateway.reload(configured(3, 9_000))
  expect(await ask()).toContain('message_stop')
  expect(upstream.connectionsOpened()).toBe(opened + 1)
  open()
  expect(await running).toContain('message_stop')
})
