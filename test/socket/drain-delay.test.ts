/** A gateway that leaves says so before it refuses anything, for as long as a balancer needs to look away. Rules: operator.md "Shutdown". */

import { expect, test } from 'bun:test'
import { MODEL_ID, startTestGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

const ASKED = { model: MODEL_ID, max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }

test('for that time /readyz is 503 and all that comes is answered, over connections that then close; then nobody listens', async () => {
  await using gateway = await startTestGateway({ drainDelayMs: 60_000 })
  const secret = await gateway.createKey()
  const ready = async (url: string): Promise<number> => (await fetch(`${url}/readyz`)).status
  expect([await ready(gateway.url), await ready(gateway.operatorUrl)]).toEqual([200, 200])
  const gone = gateway.drain()
  await until(async () => (await ready(gateway.url)) === 503)
  expect(await ready(gateway.operatorUrl)).toBe(503)
  for (let index = 0; index < 3; index++) {
    const answer = await gateway.post('/v1/messages', secret, ASKED)
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close'])
  }
  gateway.hurry()
  await gone
  expect(await fetch(`${gateway.url}/livez`).catch(() => 'refused')).toBe('refused')
})

test('without a delay what comes is refused at once', async () => {
  await using gateway = await startTestGateway()
  const gone = gateway.drain()
  expect(
    await fetch(`${gateway.url}/v1/models`).then(
      ({ status }) => status,
      () => 503,
    ),
  ).toBe(503)
  await gone
})
