/** A process that works a ledger as hard as it can until it is killed. Each line of its output is a request whose settle was acknowledged. */

import { writeSync } from 'node:fs'
import { NO_USAGE } from '../../src/core/usage.ts'
import { createKey, holdRequest, openTestLedger, settlement, usd } from './ledger.ts'
import { randomFrom } from './seed.ts'

const [path = '', bootId = '', seed = ''] = process.argv.slice(2)
const { ledger } = await openTestLedger({ path, bootId, checkpointAfterMs: 10 })
// The first round makes the key; for the others it is the same operation again.
await ledger.operate(createKey('key_a', { balanceUsd: '1000' }))
// Runs until the kill. It is checkpointed before anything else is asked, so that whoever reads the first acknowledgement knows that its row is written.
if ((await ledger.hold(holdRequest(`${bootId}_runs`, 'key_a', usd('0.01')))) !== 'held') throw new Error('not held')
await Bun.sleep(50)

async function work(lane: number): Promise<never> {
  const random = randomFrom(Number(seed) + lane)
  for (let n = 0; ; n++) {
    const requestId = `${bootId}_${lane}_${n}`
    const answer = await ledger.hold(holdRequest(requestId, 'key_a', usd('0.01')))
    if (answer !== 'held') throw new Error(`${requestId}: ${answer}`)
    if (n % 2 === 0) {
      ledger.checkpoint(requestId, { usage: { ...NO_USAGE, input: 1 }, usageSource: 'partial' })
      // Lanes out of step: at any moment some requests are old enough to be checkpointed and not yet settled.
      await Bun.sleep(40 * random())
    }
    if (n % 7 === 6) ledger.void(requestId)
    else if ((await ledger.settle(settlement(requestId, { input: 1, output: n % 50 }))) === 'settled') writeSync(1, `${requestId}\n`)
  }
}

await Promise.all(Array.from({ length: 32 }, (_, lane) => work(lane)))
