/** How often properties are tried: `FC_RUNS` decides where it is set. Runs before every test file; a property with a count of its own takes it from `runs`. */

import fc from 'fast-check'

const asked = Number(process.env['FC_RUNS'] ?? 0)
if (asked > 0) fc.configureGlobal({ numRuns: asked })

/** `usual` unless `FC_RUNS` asks for more. */
export const runs = (usual: number): number => Math.max(asked, usual)
