/**
 * Random loads that can be had again. Every run of the tests takes a seed of its own; a test that fails prints it, and `TEST_SEED` runs it, and the properties,
 * with the same choices. What the machine does meanwhile, such as which of two processes is first, no seed decides.
 */

import { afterAll } from 'bun:test'
import { randomInt } from 'node:crypto'

const given = process.env['TEST_SEED']
/** Undefined: nobody asked for a seed. */
export const ASKED_SEED = given === undefined || given === '' ? undefined : Number(given)
if (ASKED_SEED !== undefined && !Number.isSafeInteger(ASKED_SEED)) throw new Error(`TEST_SEED is no whole number: ${given}`)

export const SEED = ASKED_SEED ?? randomInt(2 ** 31)

export type Random = () => number

/** From 0, below 1. Mulberry32: a small generator with a seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The body of a test under a random load. Its seed is printed unless it ends well, also when it is stopped for its time. */
export function seeded(run: (random: Random) => Promise<void>): () => Promise<void> {
  let state: 'waiting' | 'running' | 'well' = 'waiting'
  afterAll(() => {
    if (state === 'running') console.error(`run it again with TEST_SEED=${SEED}`)
  })
  return async () => {
    state = 'running'
    await run(randomFrom(SEED))
    state = 'well'
  }
}
