/** The values of a record as bytes: numbers as float64 (NaN for null), hashes of 32 bytes, texts with their length in bytes. */

import type { UpstreamCall } from './parts.ts'

/** A UTF-16 unit takes three bytes of UTF-8 at most. */
export const BYTES_PER_UNIT_MAX = 3
/** Stands in place of a length if there is no text. */
export const ABSENT = 0xffff

export type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

export const unitsOf = (text: string | null | undefined): number => text?.length ?? 0
export const aligned = (at: number): number => Math.ceil(at / 8) * 8
export const orNull = (float: number): number | null => (Number.isNaN(float) ? null : float)

export function putHash(bytes: Buffer, at: number, hash: Uint8Array | undefined): void {
  if (hash !== undefined) bytes.set(hash.subarray(0, 32), at)
}

/** Writes a text with its length. Returns the position after it. */
export function writeText(bytes: Buffer, view: DataView, at: number, text: string | undefined): number {
  if (text === undefined) {
    view.setUint16(at, ABSENT, true)
    return at + 2
  }
  const length = bytes.write(text, at + 2)
  view.setUint16(at, length, true)
  return at + 2 + length
}

export function calledBy(name: string, model: string, messageId: string | undefined, requestId: string | undefined): UpstreamCall {
  const call: Writable<UpstreamCall> = { name, model }
  if (messageId !== undefined) call.messageId = messageId
  if (requestId !== undefined) call.requestId = requestId
  return call
}
