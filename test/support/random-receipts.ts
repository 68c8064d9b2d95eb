/** Receipts that differ in all by which sums tell them apart: what a property draws, and the tasks that write it. */

import fc from 'fast-check'
import { FORMAT_NAMES, type FormatName } from '../../src/core/format.ts'
import { picos, ZERO } from '../../src/core/money.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { HOUR_MS } from '../../src/core/windows.ts'
import { type Ask, createKey, holdTask, type Machine, NOW, operateTask, RATES, settleTask, usd } from './ledger.ts'

/** Two keys of one account, and one of another. */
export const KEYS = ['key_0', 'key_1', 'key_2'] as const
export const ACCOUNT_OF: Readonly<Record<(typeof KEYS)[number], string>> = { key_0: 'acc_0', key_1: 'acc_0', key_2: 'acc_2' }
export const MODELS = ['sample-large', 'sample-small'] as const
export const TAGS = [undefined, 'a', 'team/b'] as const
/** Their hours are in three days, and around midnight. */
export const HOURS = [0, 1, 15, 16, 40, 41] as const

export type Drawn = Readonly<{
  key: (typeof KEYS)[number]
  model: (typeof MODELS)[number]
  upstream: 'east' | 'west' | undefined
  format: FormatName
  /** A fault is waived, all others are charged. */
  outcome: Outcome
  tag: (typeof TAGS)[number]
  hour: number
  input: number
  isEstimated: boolean
}>

export const drawn: fc.Arbitrary<Drawn> = fc.record({
  key: fc.constantFrom(...KEYS),
  model: fc.constantFrom(...MODELS),
  upstream: fc.constantFrom('east' as const, 'west' as const, undefined),
  format: fc.constantFrom(...FORMAT_NAMES),
  outcome: fc.constantFrom('complete' as const, 'leaver' as const, 'fault' as const),
  tag: fc.constantFrom(...TAGS),
  hour: fc.constantFrom(...HOURS),
  input: fc.integer({ min: 0, max: 9 }),
  isEstimated: fc.boolean(),
})

export const settledAt = ({ hour }: Drawn): number => NOW + hour * HOUR_MS
export const priceOf = ({ input }: Drawn): bigint => BigInt(input) * RATES.input

export function createKeys(machine: Machine): void {
  for (const key of KEYS) {
    const own = key === 'key_1' ? { accountId: 'acc_0' } : {}
    machine.ask(operateTask(createKey(key, { ...(key === 'key_1' ? {} : { balanceUsd: '1000' }), ...own })))
  }
}

let requests = 0

/** All are held at once; they are settled in their hours. Throws where one was not written. */
export function writeAll(machine: Machine, receipts: readonly Drawn[]): void {
  for (const state of machine.statesOf(...KEYS)) machine.wallets.keys.load(state)
  const refused = machine.askAll(...receipts.flatMap(tasksOf)).find((answer) => answer !== 'held' && answer !== 'settled')
  if (refused !== undefined) throw new Error(`not written: ${refused}`)
}

/** The hold and the settle of one receipt. */
function tasksOf(one: Drawn): readonly Ask[] {
  const requestId = `req_${String(++requests).padStart(6, '0')}`
  const { key, model, upstream, format, outcome, tag, input, isEstimated } = one
  const now = settledAt(one)
  const price = priceOf(one)
  return [
    holdTask(requestId, key, usd('0.1'), { modelId: model, format, ...(tag === undefined ? {} : { tag }) }),
    settleTask(
      requestId,
      { input },
      {
        outcome,
        now,
        usageSource: isEstimated ? 'estimated' : 'final',
        ...(isEstimated ? { bytesPerToken: 4 } : {}),
        ...(outcome === 'fault' ? { costPicos: ZERO, waivedPicos: picos(price) } : {}),
        ...(upstream === undefined ? {} : { upstream: { name: upstream, model } }),
      },
    ),
  ]
}
