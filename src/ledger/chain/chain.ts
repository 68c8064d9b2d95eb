/**
 * The chain of an account: which text of a receipt or credit is hashed, letter by letter, and how. Changing a letter here is a new version: rows of the old one must
 * stay verifiable, in ledgers and in statements. Rules: ledger.md "Chain".
 *
 * A row's text is one line of JSON without spaces, its names in this order. Amounts are whole picodollars as decimal text, times Unix milliseconds. `private`
 * is the SHA-256, in hex, of what only operators may see, salted with a secret of the ledger. The hash of a row is the SHA-256 of the hash before it, in hex,
 * and its text.
 */

import { CryptoHasher, SHA256 } from 'bun'
import { JsonBytes } from '../../core/bytes/json-bytes.ts'
import type { Rates } from '../../core/pricing.ts'
import type { Usage } from '../../core/usage.ts'

/** Stands before the first row of every chain. */
export const NO_HASH = '0'.repeat(64)

export const nextHash = (previous: string, text: string): Buffer => CryptoHasher.hash('sha256', previous + text) as Buffer

/** As the gateway has it or as the ledger reads it: in the text they are the same. */
type Whole = number | bigint

type ReceiptFacts = Readonly<{
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

const LINE = new JsonBytes()

/** `owner`, `price`: as `ownerText` and `priceText` give them, as bytes, which are made once for many receipts. `secret`: as `privateText` does. */
function writeReceipt(line: JsonBytes, facts: ReceiptFacts, owner: Uint8Array, key: string, price: Uint8Array, secret: string): JsonBytes {
  const { usage } = facts
  return line
    .plain('{"v":1,"kind":"receipt",')
    .raw(owner)
    .whole(',"seq":', facts.seq)
    .text(',"id":', facts.requestId)
    .text(',"key":', key)
    .plain(',')
    .raw(price)
    .whole(',"tokens":{"input":', usage.input)
    .whole(',"output":', usage.output)
    .whole(',"cache_read":', usage.cacheRead)
    .whole(',"cache_write_5m":', usage.cacheWrite5m)
    .whole(',"cache_write_1h":', usage.cacheWrite1h)
    .whole(',"server_tool_uses":', usage.serverToolUses)
    .whole('},"cost_picos":"', facts.costPicos)
    .whole('","waived_picos":"', facts.waivedPicos)
    .whole('","hold_picos":"', facts.holdPicos)
    .text('","format":', facts.format)
    .plain(',"stream":')
    .plain(facts.isStream ? 'true' : 'false')
    .text(',"outcome":', facts.outcome)
    .text(',"basis":', facts.usageSource)
    .whole(',"bytes_per_token_thousandths":', facts.bytesPerTokenThousandths)
    .whole(',"status":', facts.status)
    .whole(',"attempts":', facts.attempts)
    .whole(',"started_at":', facts.startedAt)
    .whole(',"settled_at":', facts.settledAt)
    .whole(',"day":', facts.day)
    .whole(',"first_byte_ms":', facts.firstByteMs)
    .whole(',"duration_ms":', facts.durationMs)
    .text(',"private":', secret)
    .plain('}')
}

type ReceiptParts = readonly [facts: ReceiptFacts, owner: Uint8Array, key: string, price: Uint8Array, secret: string]

export const receiptText = (...parts: ReceiptParts): string => writeReceipt(LINE.clear(), ...parts).toString()

/** `nextHash` of the receipt's text, which is never made. */
export const receiptHash = (previous: string, ...parts: ReceiptParts): Uint8Array =>
  SHA256.hash(writeReceipt(LINE.clear().plain(previous), ...parts).bytes) as Uint8Array

export type CreditFacts = Readonly<{ seq: Whole; id: string; kind: string; amountPicos: bigint; ref: string; createdAt: Whole }>

export const creditText = ({ seq, id, kind, amountPicos, ref, createdAt }: CreditFacts, owner: string, secret: string): string =>
  `{"v":1,"kind":"credit",${owner},"seq":${seq},"id":${JSON.stringify(id)},"type":"${kind}","amount_picos":"${amountPicos}","ref":${JSON.stringify(ref)},"created_at":${createdAt},"private":"${secret}"}`

export const ownerText = (accountId: string, lane: Whole = 0): string => `"account":${JSON.stringify(accountId)},"lane":${lane}`

export const priceText = (modelId: string, rates: Readonly<Record<keyof Rates, bigint | null>>): string =>
  `"model":${JSON.stringify(modelId)},"rates_picos":{"input":"${rates.input}","output":"${rates.output}","cache_read":"${rates.cacheRead}","cache_write_5m":"${rates.cacheWrite5m}","cache_write_1h":"${rates.cacheWrite1h}","server_tool_use":"${rates.serverToolUse}"}`

/** A hash stands in the chain for what a customer may not read. Any list of texts. */
export const privateText = (salt: string, facts: readonly (string | null | undefined)[]): string =>
  SHA256.hash(`${salt}${JSON.stringify(facts)}`, 'hex')
