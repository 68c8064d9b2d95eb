/** Answers that nobody reads take the share of their account and nothing of a neighbour's. Rules: requests.md "Memory of bodies". */

import { afterEach, expect, test } from 'bun:test'
import { nativeMessage, type Script, startFakeUpstream } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { connectRaw, type RawConnection, rawRequest } from '../support/raw-client.ts'
import { until, untilStill } from '../support/until.ts'

const MIB = 1024 * 1024
/** That of an account in a pool of 128 MiB. */
const SHARE_BYTES = 33 * MIB
/** More than the kernel takes for two connections. */
const ANSWER_BYTES = 24 * MIB
const READERS = 6
/** What comes of an answer before it is told to wait. */
const BEGUN_BYTES = 2 * MIB

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
})

const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'vendor-sonnet-1',
  content: [{ type: 'text', text }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5 },
})

const LARGE = nativeMessage(message('x'.repeat(ANSWER_BYTES)))

async function start(answer: (index: number) => Script = () => LARGE) {
  const upstream = await startFakeUpstream({ answer: (_, index) => answer(index) })
  ending.push(() => upstream.stop())
  const gateway = await startTestGateway({ upstreams: [upstream.url, upstream.url], memoryBytes: 512 * MIB })
  ending.push(() => gateway.stop())
  return { gateway, upstream }
}

const BODY = JSON.stringify({ model: MODEL_ID, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] })

async function unread(gateway: TestGateway, path: string, secret: string): Promise<RawConnection> {
  const reader = await connectRaw(gateway.url)
  ending.push(() => reader.reset())
  await reader.send(rawRequest('POST', path, { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }, BODY))
  reader.pause()
  return reader
}

for (const path of ['/v1/chat/completions', '/v1/messages'])
  test(`six of 24 MB on ${path} stand still at their upstream, a neighbour gets its own, and all six are whole when they are read`, async () => {
    const { gateway, upstream } = await start()
    const [secret, neighbour] = [await gateway.createKey(), await gateway.createKey()]
    const readers: RawConnection[] = []
    for (let n = 0; n < READERS; n++) readers.push(await unread(gateway, path, secret))
    await until(() => upstream.requests.length === READERS)
    const held = await untilStill(() => gateway.bodies.bytes)
    expect(held).toBeGreaterThan(ANSWER_BYTES)
    expect(held).toBeLessThan(SHARE_BYTES + ANSWER_BYTES + READERS * BEGUN_BYTES)
    const beside = await gateway.post(path, neighbour, BODY)
    expect([beside.status, (await beside.text()).length > ANSWER_BYTES]).toEqual([200, true])
    for (const reader of readers) reader.resume()
    for (const reader of readers) await reader.until((received) => received.byteLength > ANSWER_BYTES)
    for (const reader of readers) expect((await reader.response()).isComplete).toBe(true)
    await gateway.idle()
    await until(() => gateway.bodies.bytes === 0)
    expect(gateway.receipts()).toHaveLength(READERS + 1)
  }, 120_000)

test('an upstream that lets go of what we had it wait with is not to blame: neither it nor another one is asked again', async () => {
  const [rest, more] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [head, json] = [LARGE.slice(0, 1), Buffer.from(JSON.stringify(message('x'.repeat(ANSWER_BYTES))))]
  const begun = [...head, { bytes: json.subarray(0, BEGUN_BYTES) }]
  const whole = [...begun, { when: rest.promise }, { bytes: json.subarray(BEGUN_BYTES) }]
  const cut = [...begun, { when: more.promise }, { bytes: json.subarray(BEGUN_BYTES, -1) }, { reset: true }] as const
  const { gateway, upstream } = await start((index) => (index < 2 ? whole : cut))
  const secret = await gateway.createKey()
  const readers: RawConnection[] = []
  for (let n = 1; n <= 4; n++) {
    readers.push(await unread(gateway, '/v1/messages', secret))
    await until(() => gateway.bodies.bytes >= n * BEGUN_BYTES)
  }
  rest.resolve()
  await until(() => gateway.bodies.bytes > SHARE_BYTES)
  more.resolve()
  await untilStill(() => gateway.bodies.bytes)
  for (const reader of readers) reader.resume()
  const [one, two, three, four] = readers.map(async (reader, index) => {
    if (index < 2) await reader.until((received) => received.byteLength > ANSWER_BYTES)
    return (await reader.response()).status
  })
  expect(await Promise.all([one, two, three, four])).toEqual([200, 200, 503, 503])
  expect(upstream.requests).toHaveLength(4)
}, 180_000)
