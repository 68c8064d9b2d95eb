/**
 * A receipt, a checkpoint and an attempt as rows: the columns of checkpoints and attempts, and the values in the order of the columns. Both stores write the same. Rules:
 * ledger.md "Two stores".
 */

import { costOf, type Rates } from '../../core/pricing.ts'
import type { Usage } from '../../core/usage.ts'
import type { ChainHeads, Link } from '../chain/chain-heads.ts'
import { type RowNumbers, thousandths, wholeMs } from '../columns/parts.ts'
import { receiptValues, roundedReceipt } from '../columns/receipt.ts'
import type { Attempt } from '../ledger.ts'
import type { Value } from '../sql/connection.ts'
import type { Calls, InFlightCheckpoint } from '../task.ts'
import type { Priced } from './debits.ts'
import type { CallCost } from './receipt-cost.ts'

export const COUNTERS = [
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'server_tool_uses',
]

export const CHECKPOINT_COLUMNS = [
  ...['request_id', 'key_number', 'price_number', 'boot_number', 'upstream_number', 'upstream_message_id', 'upstream_request_id'],
  ...['format', 'is_stream', 'hold_picos', 'started_at', 'marked_at', 'basis', 'bytes_per_token_thousandths', ...COUNTERS],
  ...['tag', 'upstream_cost_number'],
]
/** Columns that a later checkpoint of the same request changes. */
export const CHECKPOINT_CHANGES = [
  ...['upstream_number', 'upstream_message_id', 'upstream_request_id', 'marked_at', 'basis', 'bytes_per_token_thousandths'],
  ...COUNTERS,
  'upstream_cost_number',
]

export const ATTEMPT_COLUMNS = [
  ...['request_id', 'attempt', 'account_number', 'key_number', 'price_number', 'boot_number'],
  ...['upstream_number', 'upstream_message_id', 'upstream_request_id', 'status', 'cause', 'basis', ...COUNTERS],
  ...['price_picos', 'started_at', 'duration_ms', 'upstream_cost_number', 'upstream_cost_picos'],
]

/** The row of a receipt, and its link behind the end of the account's chain, which `heads` knows. The chain has the link only once `heads.append` was called. */
export function receiptRow(
  { debit, version, day, cost }: Priced,
  numbers: RowNumbers,
  heads: ChainHeads,
): Readonly<{ link: Link; values: readonly Value[] }> {
  const rounded = roundedReceipt(debit, day, cost)
  const link = heads.linkOf(debit, version, rounded)
  return { link, values: receiptValues(debit, rounded, numbers, link) }
}

export const checkpointRow = (
  checkpoint: InFlightCheckpoint,
  { price, boot, upstream, upstreamCost }: RowNumbers & Readonly<{ upstreamCost: number | null }>,
  now: number,
): readonly Value[] => [
  checkpoint.requestId,
  checkpoint.keyNumber,
  price,
  boot,
  upstream,
  checkpoint.upstream?.messageId ?? null,
  checkpoint.upstream?.requestId ?? null,
  checkpoint.format,
  checkpoint.isStream ? 1 : 0,
  checkpoint.holdPicos,
  checkpoint.startedAt,
  now,
  checkpoint.usageSource,
  thousandths(checkpoint.bytesPerToken),
  ...countersOf(checkpoint.usage),
  checkpoint.tag ?? null,
  upstreamCost,
]

export const attemptRow = (
  calls: Calls,
  attempt: Attempt,
  { price, boot, upstream }: RowNumbers,
  rates: Rates,
  cost: CallCost | undefined,
): readonly Value[] => [
  calls.requestId,
  attempt.number,
  calls.accountNumber,
  calls.keyNumber,
  price,
  boot,
  upstream,
  attempt.upstream.messageId ?? null,
  attempt.upstream.requestId ?? null,
  attempt.status,
  attempt.cause,
  attempt.usageSource,
  ...countersOf(attempt.usage),
  costOf(attempt.usage, rates),
  attempt.startedAt,
  wholeMs(attempt.durationMs),
  cost?.number ?? null,
  cost?.picos ?? null,
]

/** The token counters in the order of their columns. */
export const countersOf = (usage: Usage): readonly [number, number, number, number, number, number] => [
  usage.input,
  usage.output,
  usage.cacheRead,
  usage.cacheWrite5m,
  usage.cacheWrite1h,
  usage.serverToolUses,
]
