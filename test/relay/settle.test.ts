/** An answer that the ledger could not keep is logged as what its client got: a whole one as its 503, a stream as the 200 that had gone out. */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import { nothingSeen } from '../../src/core/native/observation.ts'
import { Exchange } from '../../src/relay/exchange.ts'
import { type Held, settle } from '../../src/relay/settle.ts'
import { makeTestModel, makeTestWorld } from '../support/world.ts'

const heldWith = (isStream: boolean): Held => ({
  key: {
    id: 'key_1',
    accountId: 'acc_1',
    name: '',
    display: '',
    plan: 'default',
    limitPicos: null,
    expiresAt: null,
    isActive: true,
    isAccountActive: true,
  },
  modelId: 'sonnet',
  sessionHash: new Uint8Array(32),
  isStream,
  bounds: {
    bodyBytes: 100,
    hasOpaqueInput: false,
    passes: 0,
    serverToolUsesMax: 0,
    cacheWrites: 'none',
    outputTokensMax: 100,
    bytesPerToken: 4,
    inputEstimate: 25,
  },
  prices: makeTestModel(),
  amountPicos: picos(1n),
})

test('a settle that fails is in the line as the refusal, with the status that went out', async () => {
  for (const [isStream, answer, status, refusal] of [
    [false, 'unavailable', 503, 'storageUnavailable'],
    [true, 'unavailable', 200, 'storageUnavailable'],
    [false, 'settled', 200, undefined],
    [true, 'settled', 200, undefined],
  ] as const) {
    const { world: base, logLines } = makeTestWorld()
    const world = { ...base, ledger: { ...base.ledger, settle: () => Promise.resolve(answer) } }
    const ended = {
      outcome: 'complete',
      observation: { ...nothingSeen(), hasStarted: true },
      status: 200,
      more: { upstream: 'north' },
    } as const
    const kept = await settle(world, new Exchange(world, '/v1/messages', 'messages'), heldWith(isStream), ended)
    expect(kept === 'unavailable').toBe(answer === 'unavailable')
    const [line] = logLines()
    expect([line?.['status'], line?.['refusal'], line?.['upstream'], line?.['cost_over_hold_usd'] !== undefined]).toEqual([
      status,
      refusal,
      'north',
      true,
    ])
  }
})
