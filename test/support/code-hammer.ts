/** A process that redeems codes as hard as it can until it is killed, each several times. Each line of its output is a reference whose redemption was answered. */

import { writeSync } from 'node:fs'
import { createKey, NOW, openTestLedger, sha256, usd } from './ledger.ts'

const [path = '', bootId = '', round = ''] = process.argv.slice(2)
const { ledger } = await openTestLedger({ path, bootId })
for (const keyId of ['key_a', 'key_b']) await ledger.operate(createKey(keyId))
const batchId = `batch_${round}`
const codes = Array.from({ length: 1_000 }, (_, index) => ({ codeHash: sha256(`${batchId}-${index + 1}`), display: 'TG-…test' }))
await ledger.operate({ kind: 'createCodes', batchId, name: '', amountPicos: usd('1'), expiresAt: null, codes, now: NOW })

async function redeem(place: number, accountId: string, creditId: string): Promise<void> {
  const code = `${batchId}-${place}`
  const answer = await ledger.operate({ kind: 'redeemCode', codeHash: sha256(code), accountId, creditId, now: NOW })
  if (answer.result === 'done') writeSync(1, `code:${code}\n`)
}

for (let place = 1; ; place = (place % 1_000) + 1) {
  await Promise.all(['acc_a', 'acc_b', 'acc_a', 'acc_b'].map((accountId, n) => redeem(place, accountId, `crd_${bootId}_${place}_${n}`)))
}
