/** A receipt, column by column. `bun run generate` writes what follows from this; .github/CONTRIBUTING.md "A field of a receipt" goes step by step. */

import type { Beside, ChainVersion, Column } from './column.ts'
import { COUNTERS, FORMAT, OUTCOME, USAGE_SOURCE } from './words.ts'

/** The columns in the order of the statements that write a row. */
export const RECEIPT: readonly Column[] = [
  { column: 'request_id', kind: 'text', from: 'hold', shownTo: 'all', hashedAs: 'id', tells: 'As in the answer’s `x-request-id`' },
  { column: 'account_number', kind: 'whole', from: 'hold', shownTo: 'none' },
  { column: 'key_number', kind: 'whole', from: 'hold', shownTo: 'none' },
  { column: 'price_number', kind: 'whole', from: 'hold', given: 'price', shownTo: 'none' },
  { column: 'boot_number', kind: 'whole', from: 'hold', given: 'boot', isOptional: true, shownTo: 'none' },
  { column: 'upstream_number', kind: 'whole', from: 'settle', isNullable: true, given: 'upstream', isOptional: true, shownTo: 'operators' },
  {
    column: 'upstream_message_id',
    kind: 'text',
    from: 'settle',
    isNullable: true,
    name: 'upstream.messageId',
    isOptional: true,
    shownTo: 'operators',
  },
  {
    column: 'upstream_request_id',
    kind: 'text',
    from: 'settle',
    isNullable: true,
    name: 'upstream.requestId',
    isOptional: true,
    shownTo: 'operators',
  },
  {
    column: 'attempts',
    kind: 'whole',
    from: 'settle',
    isOptional: true,
    default: 1,
    shownTo: 'all',
    says: 'Upstream calls that were made, the one of this receipt with them.',
    tells: 'Calls to providers that were made for it; one is charged at most',
  },
  { column: 'format', kind: 'text', words: FORMAT, from: 'hold', shownTo: 'all' },
  { column: 'is_stream', kind: 'flag', from: 'hold', shownTo: 'all', hashedAs: 'stream', documentedAs: 'stream' },
  {
    column: 'outcome',
    kind: 'text',
    words: OUTCOME,
    from: 'settle',
    shownTo: 'all',
    tells:
      'How it ended: `complete`; `leaver`, the client left; `deadline`, a time limit; `cut`, the key was disabled meanwhile; `fault`, the provider failed; `drain` and `recovered`, the gateway stopped',
  },
  {
    column: 'basis',
    kind: 'text',
    words: USAGE_SOURCE,
    from: 'settle',
    name: 'usageSource',
    shownTo: 'all',
    tells:
      'Where the counts come from: the provider’s `final` figures, its last ones (`partial`), or with a figure that was `estimated` from the text',
  },
  {
    column: 'bytes_per_token_thousandths',
    kind: 'thousandths',
    from: 'settle',
    isNullable: true,
    name: 'bytesPerToken',
    isOptional: true,
    shownTo: 'operators',
    says: 'What an estimate took for a token; only with the source `estimated`.',
    documentedAs: 'bytes_per_token',
  },
  {
    column: 'status',
    kind: 'whole',
    from: 'settle',
    shownTo: 'all',
    says: 'HTTP status that the client got.',
    tells: 'HTTP status of the answer',
  },
  ...COUNTERS,
  {
    column: 'cost_picos',
    kind: 'picos',
    from: 'settle',
    shownTo: 'all',
    says: '`cost + waived` must be the price of `usage` at the rates of the hold; the database checks it. One of them is 0.',
    tells: 'what was charged',
  },
  { column: 'waived_picos', kind: 'picos', from: 'settle', shownTo: 'all', tells: 'the price of what was not charged' },
  { column: 'hold_picos', kind: 'picos', from: 'hold', shownTo: 'operators' },
  {
    column: 'session_hash',
    kind: 'hash',
    from: 'settle',
    isNullable: true,
    isOptional: true,
    shownTo: 'none',
    says: 'SHA-256 of the conversation’s id, salted with the account.',
  },
  { column: 'started_at', kind: 'time', from: 'hold', shownTo: 'all', tells: 'when the request came' },
  { column: 'settled_at', kind: 'time', from: 'settle', given: 'now', shownTo: 'all', tells: 'when it was booked' },
  { column: 'day', kind: 'whole', from: 'row', shownTo: 'none', says: 'Whole UTC days since 1970.' },
  {
    column: 'first_byte_ms',
    kind: 'ms',
    from: 'settle',
    isNullable: true,
    shownTo: 'all',
    tells: 'Until the answer began; null where it did not',
  },
  { column: 'duration_ms', kind: 'ms', from: 'settle', shownTo: 'all', tells: 'Until it ended' },
  {
    column: 'tag',
    kind: 'text',
    from: 'hold',
    isNullable: true,
    isOptional: true,
    shownTo: 'all',
    says: 'The name that the client gave it, by which spend can be told apart.',
    tells: 'The name that its client gave it with `x-spend-tag`; null where it gave none',
  },
  { column: 'upstream_cost_number', kind: 'whole', from: 'row', isNullable: true, shownTo: 'none' },
  {
    column: 'upstream_cost_picos',
    kind: 'picos',
    from: 'row',
    isNullable: true,
    shownTo: 'operators',
    says: 'What the call that answered cost us; null where that is not known.',
  },
  {
    column: 'cache_lost_picos',
    kind: 'picos',
    from: 'row',
    isNullable: true,
    shownTo: 'operators',
    says: 'The part of it that wrote the prompt into a second cache, because the conversation moved to this upstream; null: it did not move.',
  },
  { column: 'seq', kind: 'whole', from: 'row', shownTo: 'none' },
  { column: 'hash', kind: 'hash', from: 'row', shownTo: 'none' },
]

/** Two columns stand for what the outside knows: the key for its id, the price for its model and rates. The boot stands for its id, the upstream for name and model. */
export const RECEIPT_CHAIN: readonly ChainVersion[] = [
  {
    public: [
      ...['seq', 'request_id', 'key_number', 'price_number', ...COUNTERS.map(({ column }) => column)],
      ...['cost_picos', 'waived_picos', 'hold_picos', 'format', 'is_stream', 'outcome', 'basis', 'bytes_per_token_thousandths'],
      ...['status', 'attempts', 'started_at', 'settled_at', 'day', 'first_byte_ms', 'duration_ms'],
    ],
    private: ['upstream_number', 'upstream_message_id', 'upstream_request_id', 'session_hash', 'boot_number'],
  },
  { public: ['tag'], private: ['upstream_cost_picos', 'cache_lost_picos'] },
]

/** `account_number` stands in front of the text, as the account's id; `hash` is made of it; the version of a cost follows from the cost and the tokens. */
export const NOT_IN_CHAIN: readonly string[] = ['account_number', 'hash', 'upstream_cost_number']

/** The value that crosses to the thread together with a receipt. */
const HAS_CHECKPOINT: Beside = { given: 'hasCheckpoint', kind: 'flag' }
const EXPIRES_AT: Beside = { given: 'idempotency.expiresAt', kind: 'time', isOptional: true }
const HEADER_HASH: Beside = { given: 'idempotency.headerHash', kind: 'hash', isOptional: true }
const BODY_HASH: Beside = { given: 'idempotency.bodyHash', kind: 'hash', isOptional: true }
const UPSTREAM_COST: Beside = { given: 'upstreamCost', kind: 'whole', isOptional: true }
const HAS_MOVED: Beside = { given: 'hasMoved', kind: 'flag', isOptional: true }

/**
 * The record in which a receipt crosses to the thread and waits in a spill, so that another version of the program may read it: what is released stays as it is. What
 * came later is a list of its own each, behind all that was there.
 */
export const RECORD = {
  floats: [
    ...['account_number', 'key_number', 'price_number', 'format', 'is_stream', HAS_CHECKPOINT, 'outcome', 'basis'],
    ...COUNTERS.map(({ column }) => column),
    ...['status', 'first_byte_ms', 'duration_ms', 'started_at', 'settled_at', 'attempts', 'bytes_per_token_thousandths'],
    ...['upstream_number', 'session_hash', EXPIRES_AT, 'boot_number'],
  ],
  amounts: ['cost_picos', 'waived_picos', 'hold_picos'],
  hashes: ['session_hash', HEADER_HASH, BODY_HASH],
  later: [['tag', UPSTREAM_COST, HAS_MOVED]],
}

/** The order of the documents of customers and of the command line. `model` and the like stand for a number; `usage`, cost and waiver of customers are shared with days. */
export const CUSTOMERS: readonly string[] = [
  ...['request_id', 'model', 'format', 'is_stream', 'outcome', 'status', 'basis', 'attempts'],
  ...['started_at', 'settled_at', 'first_byte_ms', 'duration_ms', 'tag'],
]
export const CUSTOMERS_BY_HAND: readonly string[] = [...COUNTERS.map(({ column }) => column), 'cost_picos', 'waived_picos']
export const COMMAND: readonly string[] = [
  ...[
    'request_id',
    'account_id',
    'key_id',
    'key_name',
    'model',
    'format',
    'is_stream',
    'outcome',
    'basis',
    'bytes_per_token_thousandths',
    'status',
  ],
  ...['usage', 'cost_picos', 'waived_picos', 'hold_picos', 'attempts', 'upstream', 'upstream_cost_picos', 'cache_lost_picos'],
  ...['started_at', 'settled_at', 'first_byte_ms', 'duration_ms', 'tag'],
]
