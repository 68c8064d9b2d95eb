/** Whether a key can pay is told without waiting, is a second old at most, and asks the ledger no more often than that. */

import { expect, test } from 'bun:test'
import { picos } from '../../src/core/money.ts'
import type { KeyBalance } from '../../src/ledger/ledger.ts'
import { Funds } from '../../src/relay/funds.ts'

test('a new key counts as able to pay until the ledger has answered; later answers take its place', async () => {
  let available = 0n
  let now = 0
  let asked = 0
  const balanceOf = (): Promise<KeyBalance> => {
    asked++
    return Promise.resolve({ availablePicos: picos(available), lastSyncedAt: 0 })
  }
  const funds = new Funds({ ledger: { balanceOf }, now: () => now })
  const key = { id: 'key_1' }
  expect(funds.hasFunds(key)).toBe(true)
  await Bun.sleep(0)
  expect(funds.hasFunds(key)).toBe(false)
  available = 1n
  for (now = 1; now < 1_000; now += 111) expect(funds.hasFunds(key)).toBe(false)
  expect(asked).toBe(1)
  now = 1_000
  expect(funds.hasFunds(key)).toBe(false)
  await Bun.sleep(0)
  expect(funds.hasFunds(key)).toBe(true)
  expect(asked).toBe(2)
})

test('a ledger that does not answer changes nothing, nor does one that fails', async () => {
  let now = 0
  for (const balanceOf of [() => Promise.resolve('unavailable' as const), () => Promise.reject(new Error('gone'))]) {
    const funds = new Funds({ ledger: { balanceOf }, now: () => now })
    expect(funds.hasFunds({ id: 'key_1' })).toBe(true)
    await Bun.sleep(0)
    now += 2_000
    expect(funds.hasFunds({ id: 'key_1' })).toBe(true)
  }
})
