/**
 * Debits as binary records, one buffer for each turn: posting a message costs the loop mostly the copy of its objects, and a receipt has thirty values. Measured, a
 * settle in groups of 16 with a thread that only decodes: objects 6.9 µs of CPU on both sides, one flat array 3.2, records 2.2, records in a ring of shared
 * memory 1.6, which is not worth a thread that sleeps in `Atomics.wait` and hears no other message. A record itself is `writeRecord` of columns/receipt.ts.
 */

import { amountsOfRecord, RECORD_VERSION, readRecord, recordBytesMax, textsOfRecord, writeRecord } from './columns/receipt.ts'
import { ABSENT, BYTES_PER_UNIT_MAX, type Writable } from './columns/record-bytes.ts'
import type { Attempt } from './ledger.ts'
import type { Debit, Numbered } from './task.ts'

export type NumberedDebit = Numbered<{ debit: Debit }>

/** A record holds what the ledger's columns hold; anything else travels as an object, so that the database can refuse it. */
export const fitsRecord = (debit: Debit): boolean =>
  amountsOfRecord(debit).every(isInt64) && textsOfRecord(debit).every(fitsText) && fitsText(jsonOf(debit.otherAttempts))

const isInt64 = (amount: bigint): boolean => BigInt.asIntN(64, amount) === amount
const fitsText = (text: string | null | undefined): boolean => (text?.length ?? 0) * BYTES_PER_UNIT_MAX < ABSENT

export function writeDebits(debits: readonly NumberedDebit[]): Uint8Array {
  const lengths = debits.map(({ debit }) => recordBytesMax(debit, jsonOf(debit.otherAttempts)))
  const bytes = Buffer.allocUnsafeSlow(lengths.reduce((sum, length) => sum + length, 0))
  const view = new DataView(bytes.buffer)
  let end = 0
  for (const { number, debit } of debits) end = writeRecord(bytes, view, end, number, debit, jsonOf(debit.otherAttempts))
  return bytes.subarray(0, end)
}

const jsonOf = (attempts: readonly Attempt[] | undefined): string | undefined => attempts && JSON.stringify(attempts)

/** `version`: the version of the records, if another version of the program may have written them. */
export function readDebits(given: Uint8Array, version = RECORD_VERSION): readonly NumberedDebit[] {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const view = new DataView(given.buffer, given.byteOffset, given.byteLength)
  const debits: NumberedDebit[] = []
  for (let at = 0; at < bytes.length; ) {
    const { number, debit: recorded, otherAttempts, end } = readRecord(bytes, view, at, version)
    const debit: Writable<Debit> = recorded
    if (otherAttempts !== undefined) debit.otherAttempts = JSON.parse(otherAttempts) as readonly Attempt[]
    debits.push({ number, debit })
    at = end
  }
  return debits
}
