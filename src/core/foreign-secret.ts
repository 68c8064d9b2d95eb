/**
 * Secrets that other gateways made: what a client may send as one, and which of them a ledger may have, told without a read by the first eight bytes of each hash.
 * Rules: keys.md "Imported keys".
 */

/** 16 to 128 visible ASCII characters. Too many foreign forms exist to tell more. */
const FOREIGN = /^[\x21-\x7e]{16,128}$/

export const mayBeForeign = (text: string): boolean => FOREIGN.test(text)

/** `sk-KEY-channel` or `KEY-channel` without what names the channel, and without `sk-`; undefined: the text names none. */
export function withoutChannel(text: string): string | undefined {
  const body = text.startsWith('sk-') ? text.slice(3) : text
  const end = body.indexOf('-')
  return end < 0 ? undefined : body.slice(0, end)
}

/** The first eight bytes of each hash, in ascending order. `channel`: of secrets behind which a channel may be named. */
export type ForeignHeads = Readonly<{ exact: BigUint64Array; channel: BigUint64Array }>

const HEAD_BYTES = 8

export const headOf = (hash: Uint8Array): bigint => new DataView(hash.buffer, hash.byteOffset, HEAD_BYTES).getBigUint64(0)

/** Whether the head stands in the ascending list. */
export function hasHead(heads: BigUint64Array, head: bigint): boolean {
  let [from, to] = [0, heads.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    const found = heads[middle]
    if (found === head) return true
    if (found === undefined || found > head) to = middle
    else from = middle + 1
  }
  return false
}
