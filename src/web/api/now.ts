/** The gateway at this moment, as server-sent events for operators: one a second, for as long as the session lasts. Rules: pages.md "Console", "Now". */

import { Elysia } from 'elysia'
import { NowFeed } from '../now/feed.ts'
import { type Measures, measure, NOT_MEASURED } from '../now/measures.ts'
import { snapshotOf } from '../now/snapshot.ts'
import { FirstSeen } from '../now/standing.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { callerMacro, callerOf } from './caller.ts'

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export const nowRoutes = (site: Site) => {
  const { people, world } = site
  let measures: Measures = NOT_MEASURED
  const seen = new FirstSeen()
  const feed = new NowFeed({
    snapshot: () => snapshotOf(site, measures, seen),
    measure: async () => {
      measures = await measure(site)
    },
    isDraining: world.isLeaving,
  })
  return new Elysia({ name: 'now', prefix: '/console/api' }).use(callerMacro(people, 'console')).get(
    '/now',
    ({ request: { headers }, caller }) => {
      const events = feed.open(async () => (await callerOf(people(), 'console', headers))?.sessionId === caller.sessionId)
      return events === undefined
        ? refuse(503, 'Too many look at this page now. Try again', { retryAfterS: 5 })
        : new Response(events, { headers: HEADERS })
    },
    { person: true },
  )
}
