/** The ways in which a network may cut bytes: whole, byte by byte, at random places, and in two at every place. */

import fc from 'fast-check'

export const whole = (bytes: Uint8Array): readonly Uint8Array[] => [bytes]

export const byteByByte = (bytes: Uint8Array): readonly Uint8Array[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

/** Pieces between the given places; places outside are ignored, no piece is empty. */
function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const sorted = [...new Set(places)].filter((place) => place > 0 && place < bytes.length).sort((a, b) => a - b)
  return [0, ...sorted].map((place, index) => bytes.subarray(place, sorted[index] ?? bytes.length))
}

/** Random cuts of these bytes. */
export const randomCuts = (bytes: Uint8Array): fc.Arbitrary<readonly Uint8Array[]> =>
  fc
    .uniqueArray(fc.integer({ min: 1, max: Math.max(1, bytes.length - 1) }), { maxLength: Math.min(64, bytes.length) })
    .map((places) => cutAt(bytes, places))

/** Whole and byte by byte, with names for test titles; `random` is for `fc.assert`. */
export const cuts = (
  bytes: Uint8Array,
): Readonly<{ whole: readonly Uint8Array[]; byteByByte: readonly Uint8Array[]; random: fc.Arbitrary<readonly Uint8Array[]> }> => ({
  whole: whole(bytes),
  byteByByte: byteByByte(bytes),
  random: randomCuts(bytes),
})

/** All ways to cut the bytes in two. */
export function* everySplit(bytes: Uint8Array): Generator<readonly [Uint8Array, Uint8Array]> {
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}
