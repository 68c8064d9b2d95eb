/** What the pages' apps stand on. The gateway makes it once. */

import type { People } from '../people/people.ts'
import type { UpstreamPool } from '../upstream/pool.ts'
import type { World } from '../world.ts'

/** `people`: opens their file with the first call; throws where it cannot be opened. */
export type Site = Readonly<{ world: World; upstreams: UpstreamPool; people: () => People }>
