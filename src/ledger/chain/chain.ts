/**
 * The chain of an account: which text of a receipt or credit is hashed, letter by letter, and how; a receipt's text is `writeReceiptText`. Changing a letter is a new
 * version: rows of the old one must stay verifiable, in ledgers and in statements. Rules: ledger.md "Chain".
 *
 * A row's text is one line of JSON without spaces, its names in this order. Amounts are whole picodollars as decimal text, times Unix milliseconds. `private`
 * is the SHA-256, in hex, of what only operators may see, salted with a secret of the ledger. The hash of a row is the SHA-256 of the hash before it, in hex,
 * and its text.
 */

import { CryptoHasher, SHA256 } from 'bun'
import { JsonBytes } from '../../core/bytes/json-bytes.ts'
import type { Rates } from '../../core/pricing.ts'
import { type ReceiptFacts, writeReceiptText } from '../columns/receipt.ts'

/** The hash before the first row of every chain. */
export const NO_HASH = '0'.repeat(64)

export const nextHash = (previous: string, text: string): Buffer => CryptoHasher.hash('sha256', previous + text) as Buffer

const LINE = new JsonBytes()

/** The parameters of `writeReceiptText`: `owner` and `price` are the results of `ownerText` and `priceText`, as bytes; `secret` is that of `privateText`. */
type ReceiptParts = readonly [facts: ReceiptFacts, owner: Uint8Array, key: string, price: Uint8Array, secret: string]

export const receiptText = (...parts: ReceiptParts): string => writeReceiptText(LINE.clear(), ...parts).toString()

/** The same hash as `nextHash` of the receipt's text, without making the text as a string. */
export const receiptHash = (previous: string, ...parts: ReceiptParts): Uint8Array =>
  SHA256.hash(writeReceiptText(LINE.clear().plain(previous), ...parts).bytes) as Uint8Array

type Whole = number | bigint
export type CreditFacts = Readonly<{ seq: Whole; id: string; kind: string; amountPicos: bigint; ref: string; createdAt: Whole }>

export const creditText = ({ seq, id, kind, amountPicos, ref, createdAt }: CreditFacts, owner: string, secret: string): string =>
  `{"v":1,"kind":"credit",${owner},"seq":${seq},"id":${JSON.stringify(id)},"type":"${kind}","amount_picos":"${amountPicos}","ref":${JSON.stringify(ref)},"created_at":${createdAt},"private":"${secret}"}`

export const ownerText = (accountId: string, lane: Whole = 0): string => `"account":${JSON.stringify(accountId)},"lane":${lane}`

export const priceText = (modelId: string, rates: Readonly<Record<keyof Rates, bigint | null>>): string =>
  `"model":${JSON.stringify(modelId)},"rates_picos":{"input":"${rates.input}","output":"${rates.output}","cache_read":"${rates.cacheRead}","cache_write_5m":"${rates.cacheWrite5m}","cache_write_1h":"${rates.cacheWrite1h}","server_tool_use":"${rates.serverToolUse}"}`

/** The hash that stands in the chain for texts that a customer may not read. `facts` may be any list of texts. */
export const privateText = (salt: string, facts: readonly (string | null | undefined)[]): string =>
  SHA256.hash(`${salt}${JSON.stringify(facts)}`, 'hex')
