/** A hundred requests at once at the last cent of a window, over ledgers that spend of one account: what both kinds of shared ledgers are asked. Rules: money.md "Budgets". */

import { expect } from 'bun:test'
import { HOUR_MS, hourAt, windowAt } from '../../src/core/windows.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { ACT, answerText, holdRequest, settlement, usd } from './ledger.ts'
import { until } from './until.ts'

const REQUESTS = 100
/** What the first request costs, and a cent. */
const CAP = usd('0.31')

const holdOf = (requestId: string) => holdRequest(requestId, 'key_1', usd('0.5'), { now: Date.now() })
const settlementOf = (requestId: string) => settlement(requestId, { input: 100_000 }, { now: Date.now() })

/** `operator`: by which the budget is set. Each ledger knows `key_1` of `acc_1`, which has money for all requests. */
export async function spendLastCent(ledgers: readonly Ledger[], operator: Ledger, of: 'key' | 'account'): Promise<void> {
  const [first] = ledgers as [Ledger]
  expect(answerText(await first.hold(holdOf(`req_${of}_first`)))).toBe('held')
  expect(await first.settle(settlementOf(`req_${of}_first`))).toBe('settled')
  const budget = { accountId: 'acc_1', keyId: of === 'key' ? 'key_1' : null, per: 'month', capPicos: CAP, setBy: 'operator' } as const
  expect((await operator.operate({ kind: 'setBudget', ...budget, now: Date.now() }, ACT)).result).toBe('done')
  const knows = (ledger: Ledger): boolean => ledger.keyBalanceOf('key_1')?.windows?.some((window) => window.capPicos === CAP) === true
  await until(() => ledgers.every(knows), 'all know the budget')

  const asked = Array.from({ length: REQUESTS }, (_, n) => ({ id: `req_${of}_${n}`, ledger: ledgers[n % ledgers.length] as Ledger }))
  const answers = await Promise.all(asked.map(async ({ id, ledger }) => ({ id, ledger, said: answerText(await ledger.hold(holdOf(id))) })))
  const [held, others] = [answers.filter(({ said }) => said === 'held'), answers.filter(({ said }) => said !== 'held')]
  expect(held.length).toBeLessThanOrEqual(1)
  // On a machine that stands still for long nobody waits for an answer any more.
  expect(new Set(others.map(({ said }) => said)).isSubsetOf(new Set(['reserved', 'unavailable']))).toBe(true)
  const { id, ledger } = held[0] ?? { id: `req_${of}_late`, ledger: first }
  if (held.length === 0) await until(async () => (await ledger.hold(holdOf(id))) === 'held', 'one is admitted')
  expect(await ledger.settle(settlementOf(id))).toBe('settled')

  const used = { per: 'month', resetsAt: windowAt('month', hourAt(Date.now())).end * HOUR_MS } as const
  for (const [at, one] of ledgers.entries()) {
    await until(async () => (await one.hold(holdOf(`req_${of}_last_${at}`))) !== 'unavailable', 'it hears the ledger')
    expect(await one.hold(holdOf(`req_${of}_last_${at}`))).toEqual(used)
  }
}
