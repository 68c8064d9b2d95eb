/** The ways in which a network may cut bytes: whole, byte by byte, at random places, and in two at every place. */

import fc from 'fast-check'
import { randomFrom, SEED } from './seed.ts'

export const whole = (bytes: Uint8Array): readonly Uint8Array[] => [bytes]

export const byteByByte = (bytes: Uint8Array): readonly Uint8Array[] => Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))

/** For properties, which shrink what fails. */
export const randomCuts = (bytes: Uint8Array): fc.Arbitrary<readonly Uint8Array[]> =>
  fc
    .uniqueArray(fc.integer({ min: 1, max: Math.max(1, bytes.length - 1) }), { maxLength: Math.min(64, bytes.length) })
    .map((places) => cutAt(bytes, places))

/** All of them, each with words for a failure, which name the seed of a random cut. */
export function* cuts(bytes: Uint8Array): Generator<readonly [how: string, chunks: readonly Uint8Array[]]> {
  yield ['whole', whole(bytes)]
  yield ['byte by byte', byteByByte(bytes)]
  for (let seed = SEED; seed < SEED + 3; seed++) yield [`cut at random, TEST_SEED=${seed}`, cutInPieces(bytes, seed)]
}

/** Every way to cut the bytes in two, an empty half included. */
export function* splitsInTwo(bytes: Uint8Array): Generator<readonly [Uint8Array, Uint8Array]> {
  for (let at = 0; at <= bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)]
}

/** Pieces between the given places; places outside are ignored, no piece is empty. */
function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const sorted = [...new Set(places)].filter((place) => place > 0 && place < bytes.length).sort((a, b) => a - b)
  return [0, ...sorted].map((place, index) => bytes.subarray(place, sorted[index] ?? bytes.length))
}

/** Pieces of random lengths, up to a random longest. */
function cutInPieces(bytes: Uint8Array, seed: number): readonly Uint8Array[] {
  const random = randomFrom(seed)
  const longest = 2 + Math.floor(random() * 200)
  const places: number[] = []
  for (let at = 0; at < bytes.length; at += 1 + Math.floor(random() * longest)) places.push(at)
  return cutAt(bytes, places)
}
