/** What the pages' apps stand on. The gateway makes it once. */

import type { UpstreamPool } from '../upstream/pool.ts'
import type { World } from '../world.ts'

export type Site = Readonly<{ world: World; upstreams: UpstreamPool }>
