/** Draws by a seed. */

import type { Random } from '../support/seed.ts'

/** One of these; undefined where there is none. */
export const pick = <T>(random: Random, from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)]

/** One of these, of which there is at least one. */
export const drawFrom = <T>(random: Random, from: readonly T[]): T => pick(random, from) as T
