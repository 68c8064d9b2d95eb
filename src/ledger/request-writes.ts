/**
 * The life of a request in the ledger: hold, mark, settle or void. Each runs inside a savepoint that `SqliteLedger` opens.
 * Rules: money.md "Holds", "Settle"; ledger.md "Twice is once". A duplicate changes nothing.
 */

import { type Picos, ZERO } from '../core/money.ts'
import type { Usage } from '../core/usage.ts'
import type { HoldAnswer, HoldRequest, Settlement } from './ledger.ts'
import type { BoundUsage } from './request-statements.ts'
import type { Statements } from './statements.ts'

const DAY_MS = 86_400_000

/** Any answer but `held` leaves half a hold behind: the caller rolls its savepoint back. */
export function hold(statements: Statements, request: HoldRequest, bootId: string): HoldAnswer {
  const { requestId, keyId, rates, amountPicos: amount } = request
  const now = BigInt(request.now)
  if (statements.isHeld.get({ requestId }) !== null) return 'held'
  const accountId = statements.holdOnKey.get({ keyId, amount, now })?.account_id
  if (accountId === undefined || statements.holdOnAccount.get({ accountId, amount }) === null) return reasonAgainst(statements, request)
  statements.insertHold.run({
    requestId,
    accountId,
    keyId,
    modelId: request.modelId,
    format: request.format,
    isStream: request.isStream ? 1n : 0n,
    amount,
    bootId,
    now,
    inputRate: rates.input,
    outputRate: rates.output,
    cacheReadRate: rates.cacheRead,
    cacheWrite5mRate: rates.cacheWrite5m,
    cacheWrite1hRate: rates.cacheWrite1h,
    serverToolUseRate: rates.serverToolUse,
  })
  return 'held'
}

/** Why a guard let nothing through, in the order of the checks. A key that the ledger does not know is as good as disabled. */
function reasonAgainst(statements: Statements, request: HoldRequest): Exclude<HoldAnswer, 'held' | 'unavailable'> {
  const key = statements.keyState.get({ keyId: request.keyId })
  if (!key?.isActive || !key.isAccountActive) return 'disabled'
  if (key.expiresAt !== null && key.expiresAt <= request.now) return 'expired'
  const isUsedUp = key.balancePicos <= ZERO || (key.limitPicos !== null && key.spentPicos >= key.limitPicos)
  return isUsedUp ? 'exhausted' : 'reserved'
}

export function mark(statements: Statements, requestId: string, usage: Usage, now: number): 'marked' {
  statements.markHold.run({ requestId, now: BigInt(now), ...bound(usage) })
  return 'marked'
}

/** The hold becomes a receipt and its money moves from held to spent, on the account, the key and the day's roll-up. */
export function settle(statements: Statements, settlement: Settlement): 'settled' | 'already' {
  const { requestId, costPicos: cost, waivedPicos: waived } = settlement
  const counters = bound(settlement.usage)
  const now = BigInt(settlement.now)
  const receipt = statements.insertReceipt.get({
    requestId,
    outcome: settlement.outcome,
    usageSource: settlement.usageSource,
    status: BigInt(settlement.status),
    cost,
    waived,
    now,
    firstByteMs: settlement.firstByteMs === null ? null : wholeMs(settlement.firstByteMs),
    durationMs: wholeMs(settlement.durationMs),
    ...counters,
  })
  if (receipt === null) return 'already'
  const { account_id: accountId, key_id: keyId, model_id: modelId, hold_picos: held } = receipt
  statements.deleteHold.run({ requestId })
  statements.debitAccount.run({ accountId, held, cost })
  statements.debitKey.run({ keyId, held, cost, now })
  statements.addUsage.run({ accountId, keyId, day: BigInt(Math.floor(settlement.now / DAY_MS)), modelId, cost, waived, ...counters })
  return 'settled'
}

export function release(statements: Statements, requestId: string): 'voided' | 'already' {
  const hold: { account_id: string; key_id: string; amount_picos: Picos } | null = statements.deleteHold.get({ requestId })
  if (hold === null) return 'already'
  statements.releaseOnAccount.run({ accountId: hold.account_id, held: hold.amount_picos })
  statements.releaseOnKey.run({ keyId: hold.key_id, held: hold.amount_picos })
  return 'voided'
}

const bound = (usage: Usage): BoundUsage => ({
  input: BigInt(usage.input),
  output: BigInt(usage.output),
  cacheRead: BigInt(usage.cacheRead),
  cacheWrite5m: BigInt(usage.cacheWrite5m),
  cacheWrite1h: BigInt(usage.cacheWrite1h),
  serverToolUses: BigInt(usage.serverToolUses),
})

/** Durations are measured by a clock with fractions. */
const wholeMs = (durationMs: number): bigint => BigInt(Math.max(0, Math.round(durationMs)))
