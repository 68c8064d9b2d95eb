/** Rows of the books as documents for operators: exact amounts, ISO times, names of upstreams. Rules: operator.md "Lists". */

import { type Picos, picos, toExactUsdText } from '../../core/money.ts'
import { isoOrNull, isoTime } from '../../core/utc.ts'
import { requestDocument } from '../../http/usage-documents.ts'
import type { UpstreamCall } from '../../ledger/columns/parts.ts'
import type { ReceiptRow } from '../../ledger/columns/receipt.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { AccountAtRest } from '../../ledger/reading/account-reports.ts'
import type { AttemptRow } from '../../ledger/reading/attempt-rows.ts'
import type { ListedAccount } from '../../ledger/reading/console-reports.ts'
import type { AuditRow, CreditRow } from '../../ledger/reading/operator-lists.ts'
import type { HeldSum } from '../../operator/held.ts'

export const listedAccount = (account: ListedAccount) => ({
  id: account.id,
  name: account.name,
  is_active: account.isActive,
  balance_usd: toExactUsdText(account.balancePicos),
  credited_usd: toExactUsdText(account.creditedPicos),
  spent_usd: toExactUsdText(account.spentPicos),
  keys: account.keyCount,
  has_more_keys: account.hasMoreKeys,
  created_at: isoTime(account.createdAt),
  topped_up_at: isoOrNull(account.toppedUpAt),
})

export const accountDocument = (account: AccountAtRest, held: HeldSum) => ({
  ...listedAccount(account),
  held_usd: toExactUsdText(held.amountPicos),
  held_requests: held.count,
  last_used_at: isoOrNull(account.lastUsedAt),
})

export const holdDocument = (hold: Hold) => ({
  request_id: hold.requestId,
  key_id: hold.keyId,
  model: hold.modelId,
  stream: hold.isStream,
  amount_usd: toExactUsdText(hold.amountPicos),
  started_at: isoTime(hold.startedAt),
})

export const creditDocument = ({ id, accountId, accountName, kind, amountPicos, ref, actor, reason, createdAt }: CreditRow) => ({
  id,
  account_id: accountId,
  account_name: accountName,
  kind,
  amount_usd: toExactUsdText(amountPicos),
  ref,
  actor,
  reason,
  created_at: isoTime(createdAt),
})

const upstreamOf = (call: UpstreamCall | null) =>
  call === null ? null : { name: call.name, model: call.model, message_id: call.messageId ?? null, request_id: call.requestId ?? null }

export const receiptDocument = (row: ReceiptRow) => ({ ...requestDocument(row), ...ofOperators(row) })

/** The fields of a request that customers do not get. */
const usdOrNull = (amount: Picos | null): string | null => (amount === null ? null : toExactUsdText(amount))

export const ofOperators = ({ accountId, keyId, keyName, holdPicos, costPicos, bytesPerToken, upstream, ...row }: ReceiptRow) => ({
  account_id: accountId,
  key_id: keyId,
  key_name: keyName,
  hold_usd: toExactUsdText(holdPicos),
  over_hold_usd: costPicos > holdPicos ? toExactUsdText(picos(costPicos - holdPicos)) : null,
  bytes_per_token: bytesPerToken,
  upstream: upstreamOf(upstream),
  upstream_cost_usd: usdOrNull(row.upstreamCostPicos),
  cache_lost_usd: usdOrNull(row.cacheLostPicos),
})

export const attemptDocument = (row: AttemptRow) => ({
  number: row.number,
  upstream: { ...upstreamOf(row.upstream), name: row.upstream.name, model: row.upstream.model },
  status: row.status,
  cause: row.cause,
  basis: row.usageSource,
  input_tokens: row.usage.input + row.usage.cacheRead + row.usage.cacheWrite5m + row.usage.cacheWrite1h,
  output_tokens: row.usage.output,
  price_usd: toExactUsdText(row.pricePicos),
  upstream_cost_usd: usdOrNull(row.upstreamCostPicos),
  started_at: isoTime(row.startedAt),
  duration_ms: row.durationMs,
})

export const auditDocument = ({ id, at, actor, address, action, target, targetName, reason, before, after }: AuditRow) => ({
  id,
  at: isoTime(at),
  actor,
  address,
  action,
  target,
  target_name: targetName,
  reason,
  before: JSON.parse(before) as Facts,
  after: JSON.parse(after) as Facts,
})

type Facts = Readonly<Record<string, string | number | boolean | null>>
