/**
 * How often properties are tried, and from which seed: `FC_RUNS` and `TEST_SEED` decide where they are set. Runs before every test file; a property with a count
 * of its own takes it from `runs`.
 */

import fc from 'fast-check'
import { ASKED_SEED } from './seed.ts'
import { isOnPostgres } from './store-choice.ts'

const asked = Number(process.env['FC_RUNS'] ?? 0)
fc.configureGlobal({ ...(asked > 0 ? { numRuns: asked } : {}), ...(ASKED_SEED === undefined ? {} : { seed: ASKED_SEED }) })

/** `usual` unless `FC_RUNS` asks for more; a tenth of it where each run makes a database. */
export const runs = (usual: number): number => Math.ceil(Math.max(asked, usual) / (isOnPostgres() ? 10 : 1))
