/** The simulator breaks as upstreams break: by status, by frame, by connection, by silence. Rules: faults.md "Simulator". */

import { afterAll, expect, test } from 'bun:test'
import { makeSimulator } from '../../src/simulator/simulator.ts'
import { connectRaw, rawRequest } from '../support/raw-client.ts'
import { bodyOf, deltasOf, eventsOf, jumpingClock, quick, requestOf, typesOf } from './ask.ts'

const LONG = '[sim tokens=60]'
const send = (prompt: string, fields = {}): Promise<Response> => quick()(requestOf(bodyOf(`${prompt} ${LONG}`, fields)))
const stream = { stream: true }

const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  425: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

test('each status comes with the native error body, before or inside the answer', async () => {
  for (const [status, type] of Object.entries(TYPES)) {
    for (const fields of [{}, stream]) {
      const response = await send(`[sim error=${status}]`, fields)
      expect(response.status).toBe(Number(status))
      expect(response.headers.get('retry-after')).toBe(status === '429' || status === '529' ? '1' : null)
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: { type, message: expect.stringContaining('simulator') },
        request_id: expect.any(String),
      })
    }
    const events = eventsOf(await (await send(`[sim error=${status} after=3]`, stream)).text())
    expect(deltasOf(events)).toHaveLength(3)
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type } })
    expect((await send(`[sim error=${status} after=3]`)).status).toBe(Number(status))
  }
  const worded = await send('[sim error=400 message="too much, [really]" retry_after=9]')
  expect(worded.headers.get('retry-after')).toBe('9')
  expect(await worded.json()).toMatchObject({ error: { message: 'too much, [really]' } })
})

test('a fault that should pass passes after so many tries of the same prompt', async () => {
  const simulator = quick()
  const status = async (prompt: string): Promise<number> => (await simulator(requestOf(bodyOf(prompt)))).status
  const prompt = 'Hi [sim error=529 times=2]'
  expect([await status(prompt), await status(prompt), await status(`${prompt} other`), await status(prompt)]).toEqual([529, 529, 529, 200])
})

test('a cut stream ends after its deltas without a terminal event', async () => {
  for (const after of [0, 1, 5]) {
    const events = eventsOf(await (await send(`[sim cut after=${after}]`, stream)).text())
    expect(deltasOf(events)).toHaveLength(after)
    expect(typesOf(events)).not.toContain('message_delta')
  }
  const late = eventsOf(await (await send('[sim cut after=9999]', stream)).text())
  expect(typesOf(late).at(-1)).toBe('content_block_stop')
  const last = eventsOf(await (await send('[sim cut before=message_stop]', stream)).text())
  expect(typesOf(last).at(-1)).toBe('message_delta')
})

test('a reset breaks the body, with and without stream', async () => {
  for (const fields of [{}, stream]) {
    const response = await send('[sim reset after=2]', fields)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  }
})

test('without stream, a cut or malformed answer is half a JSON body', async () => {
  for (const fault of ['cut', 'malformed']) {
    const text = await (await send(`[sim ${fault}]`)).text()
    expect(text).toStartWith('{"id":"msg_sim')
    expect(() => JSON.parse(text)).toThrow()
  }
})

test('a malformed frame stands between whole ones', async () => {
  const text = await (await send('[sim malformed after=2]', stream)).text()
  const broken = text.split('\n\n').filter((frame) => {
    try {
      JSON.parse(frame.split('data: ')[1] ?? '{}')
      return false
    } catch {
      return true
    }
  })
  expect(broken).toHaveLength(1)
  expect(text).toEndWith('"message_stop"}\n\n')
})

test('stall and slow take their time, at their place', async () => {
  const clock = jumpingClock()
  const simulator = makeSimulator({ tokensPerSecond: 0, clock })
  await (await simulator(requestOf(bodyOf(`[sim stall ms=5000 after=2] ${LONG}`, stream)))).text()
  expect(clock.slept).toEqual([5_000])
  await (await simulator(requestOf(bodyOf(`[sim stall ms=70] ${LONG}`)))).text()
  await simulator(requestOf(bodyOf('[sim slow ms=2000]', stream)))
  expect(clock.slept).toEqual([5_000, 70, 2_000])
})

test('answers that are no answers: a page, nothing, no usage, too long a prompt', async () => {
  const page = await send('[sim html]', stream)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html'])
  expect(await page.text()).toStartWith('<!doctype html>')
  const empty = await send('[sim empty]')
  expect([empty.status, await empty.text()]).toEqual([200, ''])
  expect(await (await send('[sim nousage]', stream)).text()).not.toContain('usage')
  expect(await (await send('[sim nousage]')).text()).not.toContain('usage')
  const long = await send('[sim toolong]')
  expect(long.status).toBe(400)
  expect(await long.json()).toMatchObject({
    error: { type: 'invalid_request_error', message: expect.stringMatching(/^prompt is too long: \d+ tokens > 200000 maximum$/) },
  })
})

const server = Bun.serve({ port: 0, fetch: makeSimulator({ tokensPerSecond: 0 }) })
afterAll(() => server.stop(true))

test('behind a port, a cut is an orderly end and a reset is not', async () => {
  const outcome = async (prompt: string): Promise<boolean> => {
    const connection = await connectRaw(server.url.href)
    const body = JSON.stringify(bodyOf(`${prompt} ${LONG}`, stream))
    await connection.send(rawRequest('POST', '/v1/messages', { 'Content-Type': 'application/json' }, body))
    const text = Buffer.from(await connection.until((bytes) => Buffer.from(bytes).includes('0\r\n\r\n'))).toString()
    connection.reset()
    expect(text).toContain('text_delta')
    return text.endsWith('0\r\n\r\n')
  }
  expect(await outcome('[sim cut after=3]')).toBe(true)
  expect(await outcome('[sim reset after=3]')).toBe(false)
})

test('a failure inside the answer is met as often as it says, too, streamed and whole', async () => {
  for (const directive of ['error=529', 'cut', 'reset', 'malformed', 'stall ms=7']) {
    const clock = jumpingClock()
    const simulator = makeSimulator({ tokensPerSecond: 0, clock })
    const isWhole = async (): Promise<boolean> => {
      clock.slept.length = 0
      const response = await simulator(requestOf(bodyOf(`Hi [sim ${directive} after=2 times=2] ${LONG}`, stream)))
      const types = await response
        .text()
        .then(
          (text) => typesOf(eventsOf(text)),
          () => [],
        )
        .catch(() => [])
      return types.at(-1) === 'message_stop' && !clock.slept.includes(7)
    }
    expect([directive, await isWhole(), await isWhole(), await isWhole(), await isWhole()]).toEqual([directive, false, false, true, true])
  }
  const simulator = quick()
  const statuses: number[] = []
  for (let time = 0; time < 3; time++) statuses.push((await simulator(requestOf(bodyOf('Hi [sim error=529 after=2 times=2]')))).status)
  expect(statuses).toEqual([529, 529, 200])
})

test('a word that would have no effect is not understood', async () => {
  const wrong = [
    '[sim error=529 after=2 retry_after=5]',
    '[sim slow ms=5 times=2]',
    '[sim nousage times=1]',
    '[sim cut ms=5]',
    '[sim toolong after=3]',
    '[sim error=529 times=two]',
    '[sim cut before=message_start]',
    '[sim tokens=20 args={}]',
  ]
  const simulator = quick()
  for (const directive of wrong) {
    const refused = await simulator(new Request('http://simulator/faults', { method: 'PUT', body: directive }))
    expect([refused.status, await refused.text()]).toEqual([400, `not understood: ${directive}\n`])
  }
})
