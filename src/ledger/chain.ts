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

/** `owner`, `price`: as `ownerText` and `priceText` give them. `secret`: as `privateText` does. */
export function receiptText(facts: ReceiptFacts, owner: string, key: string, price: string, secret: string): string {
  const { seq, requestId, usage, costPicos, waivedPicos, holdPicos, format, isStream, outcome, usageSource, status, attempts } = facts
  const { bytesPerTokenThousandths, startedAt, settledAt, day, firstByteMs, durationMs } = facts
  return `{"v":1,"kind":"receipt",${owner},"seq":${seq},"id":${JSON.stringify(requestId)},"key":${key},${price},"tokens":{"input":${usage.input},"output":${usage.output},"cache_read":${usage.cacheRead},"cache_write_5m":${usage.cacheWrite5m},"cache_write_1h":${usage.cacheWrite1h},"server_tool_uses":${usage.serverToolUses}},"cost_picos":"${costPicos}","waived_picos":"${waivedPicos}","hold_picos":"${holdPicos}","format":"${format}","stream":${isStream},"outcome":"${outcome}","basis":"${usageSource}","bytes_per_token_thousandths":${bytesPerTokenThousandths},"status":${status},"attempts":${attempts},"started_at":${startedAt},"settled_at":${settledAt},"day":${day},"first_byte_ms":${firstByteMs},"duration_ms":${durationMs},"private":"${secret}"}`
}

export type CreditFacts = Readonly<{ seq: Whole; id: string; kind: string; amountPicos: bigint; ref: string; createdAt: Whole }>

export const creditText = ({ seq, id, kind, amountPicos, ref, createdAt }: CreditFacts, owner: string, secret: string): string =>
  `{"v":1,"kind":"credit",${owner},"seq":${seq},"id":${JSON.stringify(id)},"type":"${kind}","amount_picos":"${amountPicos}","ref":${JSON.stringify(ref)},"created_at":${createdAt},"private":"${secret}"}`

export const ownerText = (accountId: string, lane: Whole = 0): string => `"account":${JSON.stringify(accountId)},"lane":${lane}`

export const priceText = (modelId: string, rates: Readonly<Record<keyof Rates, bigint | null>>): string =>
  `"model":${JSON.stringify(modelId)},"rates_picos":{"input":"${rates.input}","output":"${rates.output}","cache_read":"${rates.cacheRead}","cache_write_5m":"${rates.cacheWrite5m}","cache_write_1h":"${rates.cacheWrite1h}","server_tool_use":"${rates.serverToolUse}"}`

/** What a customer may not read is in the chain by its hash alone. Any list of texts. */
export const privateText = (salt: string, facts: readonly (string | null | undefined)[]): string =>
  CryptoHasher.hash('sha256', `${salt}${JSON.stringify(facts)}`, 'hex') as string
