/** The parts with which the routes of the operator's API answer; the app makes each of them once. */

import type { World } from '../../world.ts'
import type { Site } from '../site.ts'
import type { ApiActs } from './acts.ts'
import type { tokenMacro } from './caller.ts'

export type Parts = Readonly<{ world: World; site: Site; acts: ApiActs; macro: ReturnType<typeof tokenMacro> }>
