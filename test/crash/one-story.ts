/** Clients, ledger and upstream tell the same story of every request, whatever died meanwhile. */

import { expect } from 'bun:test'
import { BYTES_PER_TOKEN } from '../../src/config/defaults.ts'
import { ZERO } from '../../src/core/money.ts'
import type { ReceiptRow } from '../support/gateway.ts'
import { type Call, FIRST_INPUT_TOKENS, textOf } from './book-keeper.ts'
import { type Answer, countsOf } from './load.ts'

/** The calls whose answer no client saw whole. */
export function callsWithout(answers: readonly Answer[], calls: readonly Call[]): readonly Call[] {
  const seen = new Set(answers.map(({ inputTokens, outputTokens }) => `${inputTokens}/${outputTokens}`))
  return calls.filter((call) => !seen.has(`${countsOf(call).input}/${countsOf(call).output}`))
}

/**
 * `lost`: calls whose answer no client saw whole; all others must have their receipt. `mayBeWaived`: where a request was taken from a process that lived on, whoever
 * asked may have seen its answer whole, for nothing.
 */
export function expectOneStory(
  rows: readonly ReceiptRow[],
  seen: readonly Answer[],
  calls: readonly Call[],
  lost: ReadonlySet<Call>,
  mayBeWaived = false,
): void {
  const byId = new Map(rows.map((row) => [row.requestId, row]))
  for (const { requestId, inputTokens, outputTokens } of seen) {
    const row = byId.get(requestId)
    if (mayBeWaived && row?.outcome === 'recovered') continue
    expect(row).toMatchObject({ outcome: 'complete', usageSource: 'final', outputTokens })
    expect((row?.inputTokens ?? 0) + (row?.cacheReadTokens ?? 0)).toBe(inputTokens)
  }
  // A request that died before its answer began says nothing of its call.
  const begun = rows.filter(({ basis }) => basis !== 'none')
  for (const { outcome, costPicos } of rows) if (outcome === 'recovered') expect(costPicos).toBe(ZERO)
  const byCall = new Map(begun.map((row) => [row.inputTokens - FIRST_INPUT_TOKENS, row]))
  expect(byCall.size).toBe(begun.length)
  for (const [number, row] of byCall) {
    const call = calls[number]
    expect(call, `receipt ${row.requestId} of no call`).toBeDefined()
    if (call !== undefined) expectBooked(row, call)
  }
  // A request that was taken from its process before its first words were recorded has a receipt that names no call, though its client may have seen the answer.
  const untold = seen.filter(
    ({ requestId }) => mayBeWaived && byId.get(requestId)?.outcome === 'recovered' && byId.get(requestId)?.basis === 'none',
  )
  const others = new Set(callsWithout(untold, calls))
  const unbooked = calls.filter((call) => !byCall.has(call.number) && others.has(call))
  expect(unbooked.filter((call) => !lost.has(call))).toEqual([])
}

/** Exactly what the upstream counted; for a request that died, no more than that or than what its words are worth, and waived. */
function expectBooked(row: ReceiptRow, call: Call): void {
  const { usage } = call
  expect([row.inputTokens, row.cacheReadTokens]).toEqual([usage.input, usage.cacheRead])
  const most = row.basis === 'estimated' ? Math.ceil(textOf(call).length / BYTES_PER_TOKEN) : usage.output
  if (row.outcome === 'complete') expect(row.outputTokens).toBe(usage.output)
  else expect([row.outcome, row.outputTokens <= most]).toEqual(['recovered', true])
}
