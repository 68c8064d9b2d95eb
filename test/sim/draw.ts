/** Draws by a seed. */

import type { Random } from '../support/seed.ts'

/** One of these, of which there is at least one. */
export const drawFrom = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
