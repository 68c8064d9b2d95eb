/** What has to read a whole large body does it a little in each turn of the loop. Rules: requests.md "Heavy bodies"; doors.md "Signatures". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { bodyHash } from '../../../src/upstream/doors/aws/body-hash.ts'
import { inBase64 } from '../../../src/upstream/doors/base64-pieces.ts'
import { turnsOf } from '../../../src/upstream/doors/pieces.ts'

const MIB = 1024 * 1024
/** Cuts so many bytes into pieces of these lengths, in turn. */
function piecesOf(bytes: Uint8Array, lengths: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const length = Math.max(1, lengths[index % lengths.length] ?? bytes.length)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}
const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536))).slice(0, length)
const large = (length: number): Uint8Array => new Uint8Array(Buffer.alloc(length, random(4_099)))

/** How many turns the loop takes by the time that the promise is settled. */
async function turnsUntil(promise: unknown): Promise<number> {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await promise
  isOver = true
  return turns
}

test('base64 and hash of pieces are those of the whole, wherever it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      async (bytes, lengths) => {
        const pieces = piecesOf(bytes, lengths)
        expect(Buffer.concat(await inBase64(pieces)).toString()).toBe(Buffer.from(bytes).toString('base64'))
        expect(await bodyHash(pieces)).toBe(new Bun.CryptoHasher('sha256').update(bytes).digest('hex'))
      },
    ),
  )
  for (const length of [64 * 1024 + 1, MIB, 3 * MIB + 1]) {
    const bytes = large(length)
    for (const lengths of [[length], [1, 700_001], [262_145, 2]]) {
      const pieces = piecesOf(bytes, lengths)
      expect(Buffer.concat(await inBase64(pieces)).equals(Buffer.from(Buffer.from(bytes).toString('base64')))).toBe(true)
      expect(await bodyHash(pieces)).toBe(new Bun.CryptoHasher('sha256').update(bytes).digest('hex'))
    }
  }
})

test('a small body is done at once, a large one in as many turns as it has quarters of a MiB', async () => {
  const small = [large(64 * 1024)]
  expect([typeof bodyHash(small), Array.isArray(inBase64(small))]).toEqual(['string', true])
  const pieces = [large(4 * MIB), large(4 * MIB)]
  for (const [name, work] of [
    ['hash', bodyHash],
    ['base64', inBase64],
  ] as const) {
    const turns = await turnsUntil(work(pieces))
    // Work on another thread would let the loop turn hundreds of times meanwhile, and would have had to be given a copy.
    expect([name, turns > 28, turns < 64]).toEqual([name, true, true])
  }
  expect([...turnsOf(pieces)].map(({ length }) => length)).toEqual(Array(32).fill(MIB / 4))
})
