/** What was answered and paid for is there after a restart, for the secret that asked alone, and is never generated or charged twice. Rules: requests.md "Kept answers". */

import { Database } from 'bun:sqlite'
import { afterAll, afterEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { displayOf, makeSecret } from '../../src/core/key.ts'
import { nativeMessage, nativeStream, type Script, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway.ts'
import { sha256 } from '../support/ledger.ts'
import { FORMATS, question } from '../support/stage.ts'
import { until } from '../support/until.ts'

const CANARY = 'the-canary-of-an-answer'
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'x',
  content: [{ type: 'text', text: CANARY }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 3 },
}
let script: Script = nativeMessage(MESSAGE)
const upstream = await startFakeUpstream({ answer: () => script })
afterAll(() => upstream.stop())

/** The first one's folder is removed last. */
const ending: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
})

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ upstreams: [upstream.url], ...options })
  ending.push(() => gateway.stop())
  return gateway
}

async function restarted(before: TestGateway, options: TestGatewayOptions = {}): Promise<TestGateway> {
  await before.drain()
  return await start({ ledgerPath: before.ledgerPath, ...options })
}

const answersOf = (gateway: TestGateway): string => `${gateway.ledgerPath}.answers`
const named = (secret: string, header: string) => ({
  headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': header },
})
const respond = (gateway: TestGateway, secret: string, more: object) =>
  gateway.post('/v1/responses', secret, { model: MODEL_ID, input: 'Hi', ...more })
const errorOf = async (answer: Response): Promise<string> => ((await answer.json()) as { error: { message: string } }).error.message

/** Of a gateway that has ended; it makes no file where there is nothing to keep. */
function rowsIn(gateway: TestGateway): readonly { expires_at: number }[] {
  if (!existsSync(answersOf(gateway))) return []
  const db = new Database(answersOf(gateway), { readonly: true })
  try {
    return db.query<{ expires_at: number }, []>('SELECT expires_at FROM answers ORDER BY number').all()
  } finally {
    db.close()
  }
}

/** What the file and its log hold, as bytes. */
const onDisk = (gateway: TestGateway): string =>
  readdirSync(dirname(gateway.ledgerPath))
    .filter((name) => name.startsWith(basename(answersOf(gateway))))
    .map((name) => readFileSync(`${dirname(gateway.ledgerPath)}/${name}`, 'latin1'))
    .join('')

test('every format, whole and streamed, is given again byte for byte after a restart: no call, no charge', async () => {
  const one = await start()
  const secret = await one.createKey()
  const asked = FORMATS.flatMap((format) => [true, false].map((stream) => ({ format, stream })))
  const first = new Map<object, { bytes: string; id: string | null }>()
  for (const each of asked) {
    script = each.stream ? nativeStream(...textFrames(CANARY)) : nativeMessage(MESSAGE)
    const { path, body } = question(each)
    const answer = await one.post(path, secret, body, named(secret, `${each.format}-${each.stream}`))
    first.set(each, { bytes: (await answer.text()).replace(/^: ok\n\n/, ''), id: answer.headers.get('x-request-id') })
  }
  const two = await restarted(one)
  const calls = upstream.requests.length
  for (const each of asked) {
    const { path, body } = question(each)
    const answer = await two.post(path, secret, body, named(secret, `${each.format}-${each.stream}`))
    expect({ bytes: await answer.text(), id: answer.headers.get('x-request-id') }).toEqual(first.get(each) ?? { bytes: '', id: '' })
    expect([answer.headers.get('idempotency-replayed'), answer.headers.get('x-cost-usd')]).toEqual(['true', '0.000000'])
  }
  expect(upstream.requests).toHaveLength(calls)
  expect(two.receipts()).toHaveLength(asked.length)
  expect(two.verify()).toEqual([])
})

test('a client that left in the middle finds its answer after a restart', async () => {
  const one = await start()
  const secret = await one.createKey()
  const { path, body } = question({ stream: true })
  const gate = Promise.withResolvers<void>()
  const [head = '', ...rest] = textFrames(CANARY)
  script = nativeStream(head, { when: gate.promise }, ...rest)
  const leaving = new AbortController()
  const left = await one.post(path, secret, body, { ...named(secret, 'left'), signal: leaving.signal })
  leaving.abort()
  await left.text().catch(() => undefined)
  gate.resolve()
  await one.idle()
  const two = await restarted(one)
  const answer = await two.post(path, secret, body, named(secret, 'left'))
  expect(await answer.text()).toContain('message_stop')
  expect(two.receipts()).toHaveLength(1)
})

test('a conversation goes on after a restart, by the response and by its items, and says why it cannot', async () => {
  script = nativeMessage(MESSAGE)
  const one = await start()
  const secret = await one.createKey()
  const { id, output } = (await (await respond(one, secret, {})).json()) as { id: string; output: { id: string }[] }
  const forgotten = (await (await respond(one, secret, { store: false, input: 'never' })).json()) as { id: string }
  expect(forgotten.id).toBe(id)
  const two = await restarted(one)
  const next = await respond(two, secret, { input: 'And?', previous_response_id: id })
  expect(next.status).toBe(200)
  const sent = JSON.parse(Buffer.from(upstream.requests.at(-1)?.body ?? []).toString()) as { messages: unknown[] }
  expect(sent.messages).toMatchObject([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: CANARY },
    { role: 'user', content: 'And?' },
  ])
  const byItem = [
    { role: 'user', content: 'Hi' },
    { type: 'item_reference', id: output[0]?.id },
    { role: 'user', content: 'And?' },
  ]
  expect((await respond(two, secret, { input: byItem })).status).toBe(200)
  expect(await errorOf(await respond(two, secret, { previous_response_id: 'resp_none' }))).toBe(
    'previous_response_id: not found; send the full input (store: false)',
  )
  const other = await two.createKey({ id: 'key_other' })
  expect(await errorOf(await respond(two, other, { previous_response_id: id }))).toContain('not found')
})

test('who has the file reads nothing: no word of request, answer, header or secret stands in it, and its owner alone may open it', async () => {
  script = nativeMessage(MESSAGE)
  const gateway = await start()
  const secret = await gateway.createKey()
  const { path, body } = question({})
  await (await gateway.post(path, secret, body, named(secret, 'header-canary'))).text()
  const answer = await respond(gateway, secret, { input: [{ id: 'msg_canary', role: 'user', content: 'prompt-canary' }] })
  const { id } = (await answer.json()) as { id: string }
  await gateway.drain()
  const bytes = onDisk(gateway)
  expect(bytes.length).toBeGreaterThan(4_096)
  for (const word of [CANARY, 'prompt-canary', 'header-canary', 'msg_canary', id, secret, 'application/json', 'req_'])
    expect(bytes).not.toContain(word)
  expect(statSync(answersOf(gateway)).mode & 0o777).toBe(0o600)
  expect(rowsIn(gateway)).toHaveLength(2)
})

test('what is asked for with store: false is written nowhere, under a header neither: its repetition is answered from memory, and after a restart it is gone', async () => {
  for (const stream of [false, true]) {
    script = stream ? nativeStream(...textFrames(CANARY)) : nativeMessage(MESSAGE)
    const one = await start()
    const secret = await one.createKey()
    const post = (at: TestGateway) =>
      at.post('/v1/responses', secret, { model: MODEL_ID, input: 'Hi', store: false, stream }, named(secret, 'a'))
    await (await post(one)).text()
    expect((await post(one)).headers.get('idempotency-replayed')).toBe('true')
    const two = await restarted(one)
    expect(rowsIn(one)).toEqual([])
    expect(await errorOf(await post(two))).toContain('whose answer is no longer kept')
    expect(two.receipts()).toHaveLength(1)
  }
})

test('an answer under a header is kept for a day, one that is remembered for an hour', async () => {
  script = nativeMessage(MESSAGE)
  const gateway = await start()
  const secret = await gateway.createKey()
  const { path, body } = question({})
  const from = Date.now()
  await (await gateway.post(path, secret, body, named(secret, 'a'))).text()
  await (await respond(gateway, secret, {})).text()
  await gateway.drain()
  const to = Date.now()
  const hours = rowsIn(gateway).map(({ expires_at: until }) => [until - to, until - from].map((ms) => Math.round(ms / 36_000) / 100))
  expect(hours).toEqual([
    [24, 24],
    [1, 1],
  ])
})

test('after a restart a rotated secret finds nothing of the old one, and the old one finds all of it as long as it is good', async () => {
  script = nativeMessage(MESSAGE)
  const one = await start()
  const secret = await one.createKey({ id: 'key_a' })
  const { path, body } = question({})
  const post = (at: TestGateway, as: string) => at.post(path, as, body, named(as, 'a'))
  const bytes = await (await post(one, secret)).text()
  const { id } = (await (await respond(one, secret, {})).json()) as { id: string }
  const two = await restarted(one)
  const rotated = makeSecret(() => randomBytes(64))
  const now = Date.now()
  const given = { secretHash: sha256(rotated), display: displayOf(rotated), oldValidUntil: now + 3_600_000, now }
  await two.operate({ kind: 'rotateKey', keyId: 'key_a', ...given })
  expect(await errorOf(await post(two, rotated))).toContain('whose answer is no longer kept')
  expect(await errorOf(await respond(two, rotated, { previous_response_id: id }))).toContain('not found')
  expect(await (await post(two, secret)).text()).toBe(bytes)
  expect((await respond(two, secret, { previous_response_id: id })).status).toBe(200)
})

test('0 is memory only: nothing is written, and what was kept before is removed', async () => {
  script = nativeMessage(MESSAGE)
  const one = await start()
  const secret = await one.createKey()
  const { path, body } = question({})
  const post = (at: TestGateway) => at.post(path, secret, body, named(secret, 'a'))
  await (await post(one)).text()
  const two = await restarted(one, { limits: { keptAnswersBytes: 0 } })
  expect(existsSync(answersOf(one))).toBe(false)
  expect(await errorOf(await post(two))).toContain('whose answer is no longer kept')
  await respond(two, secret, {})
  await two.drain()
  expect(existsSync(answersOf(one))).toBe(false)
})

for (const [what, damage] of [
  ['is no database', (path: string) => writeFileSync(path, 'nothing that is a database'.repeat(1_000))],
  ['is damaged', (path: string) => writeFileSync(path, readFileSync(path).fill(0xa5, 200, 20_000))],
] as const)
  test(`a file that ${what} is set aside and begun anew, told once; requests are answered as without it`, async () => {
    script = nativeMessage(MESSAGE)
    const one = await start()
    const secret = await one.createKey()
    const { path, body } = question({})
    const post = (at: TestGateway, header: string) => at.post(path, secret, body, named(secret, header))
    await (await post(one, 'a')).text()
    await one.drain()
    damage(answersOf(one))
    const two = await restarted(one)
    expect(await errorOf(await post(two, 'a'))).toContain('whose answer is no longer kept')
    expect((await post(two, 'b')).status).toBe(200)
    const three = await restarted(two)
    expect((await post(three, 'b')).headers.get('idempotency-replayed')).toBe('true')
    expect(readdirSync(dirname(one.ledgerPath)).filter((name) => /answers\.\d{8}T\d{6}Z$/.test(name))).toHaveLength(1)
    const alarms = [...two.logLines(), ...three.logLines()].filter(({ alarm }) => alarm === 'kept answers')
    expect(alarms).toHaveLength(1)
    expect(three.receipts()).toHaveLength(2)
  })

test('what cannot be looked up now is not denied: its repetition and who refers to it may come again, and new requests are answered', async () => {
  script = nativeMessage(MESSAGE)
  const one = await start()
  const secret = await one.createKey()
  const { path, body } = question({})
  const post = (at: TestGateway, header: string) => at.post(path, secret, body, named(secret, header))
  await (await post(one, 'a')).text()
  const { id } = (await (await respond(one, secret, {})).json()) as { id: string }
  const two = await restarted(one, { startAnswersThread: () => new Worker('data:text/javascript,onmessage=()=>process.exit(1)') })
  const asked = [await post(two, 'a'), await respond(two, secret, { previous_response_id: id })]
  expect(asked.map(({ status, headers }) => [status, headers.has('retry-after')])).toEqual([
    [503, true],
    [503, true],
  ])
  expect((await post(two, 'b')).status).toBe(200)
  const three = await restarted(two)
  expect((await post(three, 'a')).headers.get('idempotency-replayed')).toBe('true')
  expect((await respond(three, secret, { previous_response_id: id })).status).toBe(200)
})

test('a file that is gone is begun anew without a word', async () => {
  script = nativeMessage(MESSAGE)
  const one = await start()
  const secret = await one.createKey()
  const { path, body } = question({})
  const post = (at: TestGateway, header: string) => at.post(path, secret, body, named(secret, header))
  await (await post(one, 'a')).text()
  await one.drain()
  await Bun.file(answersOf(one)).delete()
  const two = await restarted(one)
  expect(await errorOf(await post(two, 'a'))).toContain('whose answer is no longer kept')
  expect((await post(two, 'b')).status).toBe(200)
  expect(two.logLines().filter(({ alarm }) => alarm !== undefined)).toEqual([])
})

test('its size is a metric', async () => {
  script = nativeMessage(MESSAGE)
  const gateway = await start()
  const secret = await gateway.createKey()
  await respond(gateway, secret, {})
  const size = async (): Promise<number> =>
    Number(/\ntollgate_kept_answers_bytes (\d+)\n/.exec(await (await fetch(`${gateway.operatorUrl}/metrics`)).text())?.[1])
  await until(async () => (await size()) > 0, 'the answer is kept')
  expect(await size()).toBe(statSync(answersOf(gateway)).size)
})
