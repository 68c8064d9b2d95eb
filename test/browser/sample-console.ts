/** A console with something to see, for tests and for pictures: two upstreams, of which one fails, and requests that were paid and refused. */

import type { Catalog } from '../../src/core/catalog.ts'
import { picos } from '../../src/core/money.ts'
import type { UpstreamCost } from '../../src/core/upstream-cost.ts'
import { errorAnswer, type FakeUpstream, nativeStream, startFakeUpstream, textFrames } from '../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway, type TestGateway } from '../support/gateway.ts'
import { makeTestModel } from '../support/world.ts'

export type SampleConsole = Readonly<{
  gateway: TestGateway
  /** Pays for one stream. */
  pay(): Promise<void>
  stop(): Promise<void>
}>

/** What one of the two charges is known, so that the page of the margin has a table and a note. */
const COSTS = new Map<string, UpstreamCost>([
  ['upstream-0', { prices: { rates: makeTestModel().rates, levels: [] }, factorMillionths: 400_000 }],
])

/** Each order of the three models is another: by name, by input, by output and by tokens. */
const ratesOf = (input: bigint, output: bigint) => ({
  ...makeTestModel().rates,
  input: picos(input * 1_000_000n),
  output: picos(output * 1_000_000n),
})
const HAIKU = { id: 'haiku', upstreams: [{ name: 'upstream-1', model: 'vendor-haiku' }], rates: ratesOf(1n, 5n) }
const OPUS = { id: 'opus', rates: ratesOf(5n, 10n), contextWindow: 100_000 }

export async function sampleConsole(): Promise<SampleConsole> {
  const well = await startFakeUpstream({ answer: () => nativeStream(...textFrames('Hello there')) })
  const ill = await startFakeUpstream({
    answer: () => errorAnswer(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  })
  const gateway = await startTestGateway({
    upstreams: [well.url, ill.url],
    models: [{ costs: COSTS, contextWindow: 1_000_000 }, HAIKU, OPUS],
    readConfig: (inForce) => ({ ...inForce, limits: { ...inForce.limits, requestsPerMinute: 600 }, catalog: twiceAsDear(inForce.catalog) }),
  })
  const secret = await gateway.createKey({ balanceUsd: '50' })
  const ask = async (model: string): Promise<void> => {
    const body = { model, max_tokens: 16, stream: true, messages: [{ role: 'user', content: 'Hi' }] }
    await (await gateway.post('/v1/messages', secret, body)).text()
  }
  await ask('haiku')
  await (await gateway.post('/v1/messages', 'sk-wrong', {})).text()
  return {
    gateway,
    pay: () => ask(MODEL_ID),
    stop: () => stopAll(gateway, [well, ill]),
  }
}

const twiceAsDear = (catalog: Catalog): Catalog => ({
  ...catalog,
  models: new Map(
    [...catalog.models].map(([id, { rates, ...model }]) => [
      id,
      { ...model, rates: { ...rates, input: picos(rates.input * 2n), output: picos(rates.output * 2n) } },
    ]),
  ),
})

async function stopAll(gateway: TestGateway, upstreams: readonly FakeUpstream[]): Promise<void> {
  await gateway.stop()
  await Promise.all(upstreams.map((upstream) => upstream.stop()))
}
