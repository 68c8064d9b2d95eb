/** A ledger with requests of two keys for the tests of lists: ids as the gateway makes them, one waived, one over its hold, one with another attempt. */

import { picos, ZERO } from '../../src/core/money.ts'
import { createKey, holdTask, openMachine, operateTask, RATES, settleTask, usd } from '../support/ledger.ts'
import { NOW, type Workplace } from './run.ts'

export const requestId = (n: number): string => `req_${(NOW + n * 60_000).toString(16).padStart(12, '0')}7000000000000000${n}`
const upstream = (n: number) => ({ name: 'main', model: 'vendor-large', messageId: `msg_${n}`, requestId: `vendor_${n}` })

/** Request n comes in n minutes after `NOW` and takes a second: 100 input and n output tokens. */
/** Half of our price; of the request of the second key it is not known. */
const COSTS = new Map([[upstream(0).name, { prices: { rates: RATES, levels: [] }, factorMillionths: 500_000 }]])

export function makeRequests(place: Workplace): void {
  const machine = openMachine(place.ledgerPath)
  machine.ask(operateTask(createKey('key_1', { name: 'app', balanceUsd: '10', now: NOW })))
  machine.ask(operateTask(createKey('key_2', { name: 'other', balanceUsd: '10', now: NOW + 1 })))
  for (const n of [1, 2, 3, 4, 5]) {
    const now = NOW + n * 60_000
    const usage = { input: 100, output: n }
    const price = picos(300_000_000n + BigInt(n) * 15_000_000n)
    const attempt = {
      number: 1,
      upstream: upstream(40 + n),
      status: 529,
      cause: 'overloaded',
      usageSource: 'partial',
      startedAt: now,
      durationMs: 9,
    } as const
    const more = {
      now: now + 1_000,
      upstream: upstream(n),
      ...(n === 3 ? ({ outcome: 'fault', usageSource: 'partial', costPicos: ZERO, waivedPicos: price } as const) : {}),
      ...(n === 4
        ? {
            attempts: 2,
            otherAttempts: [
              { ...attempt, usage: { input: 7, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, serverToolUses: 0 } },
            ],
          }
        : {}),
    }
    machine.ask(
      holdTask(requestId(n), n === 5 ? 'key_2' : 'key_1', n === 2 ? picos(1n) : usd('0.1'), { now, costs: n === 5 ? undefined : COSTS }),
    )
    machine.ask(settleTask(requestId(n), usage, more))
  }
  machine.close()
}
