/**
 * The chain of an account: what of a receipt or credit is hashed, letter by letter, and how. Changing a letter here is a new version: rows of the old one must
 * stay verifiable, in ledgers and in statements. Rules: ledger.md "Chain".
 *
 * A row's text is one line of JSON without spaces, its names in this order. Amounts are whole picodollars as decimal text, times Unix milliseconds. `private`
 * is the SHA-256, in hex, of what only operators may see, salted with a secret of the ledger. The hash of a row is the SHA-256 of the hash before it, in hex,
 * and its text.
 */

import { CryptoHasher } from 'bun'
import type { Rates } from '../core/pricing.ts'
import type { Usage } from '../core/usage.ts'

/** Stands before the first row of every chain. */
export const NO_HASH = '0'.repeat(64)

export const nextHash = (previous: string, text: string): Buffer => CryptoHasher.hash('sha256', previous + text) as Buffer

/** As the gateway has it or as the ledger reads it: in the text they are the same. */
type Whole = number | bigint

/** The id of the account, and the lane of its chain. */
export type Owner = Readonly<{ account: string; lane: number }>

/** As it stands in the text; `priceOf` makes it, once for all receipts of a version. */
export type Price = Readonly<{ model: string; rates_picos: Readonly<Record<string, string>> }>

export const priceOf = (model: string, rates: Readonly<Record<keyof Rates, bigint | null>>): Price => ({
  model,
  rates_picos: {
    input: `${rates.input}`,
    output: `${rates.output}`,
    cache_read: `${rates.cacheRead}`,
    cache_write_5m: `${rates.cacheWrite5m}`,
    cache_write_1h: `${rates.cacheWrite1h}`,
    server_tool_use: `${rates.serverToolUse}`,
  },
})

export type ReceiptFacts = Readonly<{
  seq: Whole
  requestId: string
  costPicos: bigint
  waivedPicos: bigint
  holdPicos: bigint
  usage: Readonly<Record<keyof Usage, Whole>>
  format: string
  isStream: boolean
  outcome: string
  usageSource: string
  bytesPerTokenThousandths: Whole | null
  status: Whole
  attempts: Whole
  startedAt: Whole
  settledAt: Whole
  day: Whole
  firstByteMs: Whole | null
  durationMs: Whole
}>

/**
 * `secret`: as `privateText` gives it. Written by one `JSON.stringify` of an object whose names are in the text's order: put together piece by piece, a text of
 * sixty pieces takes three times as long to make and to copy.
 */
export function receiptText(facts: ReceiptFacts, owner: Owner, key: string, price: Price, secret: string): string {
  const { usage } = facts
  return JSON.stringify({
    v: 1,
    kind: 'receipt',
    account: owner.account,
    lane: owner.lane,
    seq: Number(facts.seq),
    id: facts.requestId,
    key,
    model: price.model,
    rates_picos: price.rates_picos,
    tokens: {
      input: Number(usage.input),
      output: Number(usage.output),
      cache_read: Number(usage.cacheRead),
      cache_write_5m: Number(usage.cacheWrite5m),
      cache_write_1h: Number(usage.cacheWrite1h),
      server_tool_uses: Number(usage.serverToolUses),
    },
    cost_picos: `${facts.costPicos}`,
    waived_picos: `${facts.waivedPicos}`,
    hold_picos: `${facts.holdPicos}`,
    format: facts.format,
    stream: facts.isStream,
    outcome: facts.outcome,
    basis: facts.usageSource,
    bytes_per_token_thousandths: orNull(facts.bytesPerTokenThousandths),
    status: Number(facts.status),
    attempts: Number(facts.attempts),
    started_at: Number(facts.startedAt),
    settled_at: Number(facts.settledAt),
    day: Number(facts.day),
    first_byte_ms: orNull(facts.firstByteMs),
    duration_ms: Number(facts.durationMs),
    private: secret,
  })
}

const orNull = (whole: Whole | null): number | null => (whole === null ? null : Number(whole))

export type CreditFacts = Readonly<{ seq: Whole; id: string; kind: string; amountPicos: bigint; ref: string; createdAt: Whole }>

export const creditText = ({ seq, id, kind, amountPicos, ref, createdAt }: CreditFacts, { account, lane }: Owner, secret: string): string =>
  JSON.stringify({
    v: 1,
    kind: 'credit',
    account,
    lane,
    seq: Number(seq),
    id,
    type: kind,
    amount_picos: `${amountPicos}`,
    ref,
    created_at: Number(createdAt),
    private: secret,
  })

/** What a customer may not read is in the chain by its hash alone. Any list of texts. */
export const privateText = (salt: string, facts: readonly (string | null | undefined)[]): string =>
  CryptoHasher.hash('sha256', `${salt}${JSON.stringify(facts)}`, 'hex') as string
