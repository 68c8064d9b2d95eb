/**
 * Refusals and first bytes of Explore, as a document and as a file: from the history of requests over all processes and nodes, which keeps models, upstreams and reasons.
 * Rules: pages.md "Explore", "History".
 */

import type { Static } from 'elysia'
import { stepsBetween, stepText, type TrafficMeasure } from '../../core/explore.ts'
import type { WriterSeen } from '../../core/history/kept.ts'
import type { TrafficFound } from '../../core/history/traffic.ts'
import { dayText, isoTime } from '../../core/utc.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import type { Caller } from './caller.ts'
import { CSV, download } from './download.ts'
import { clientOf, type ExploreLines } from './explore-lines.ts'
import { type EXPLORE_QUERY, type Traffic, trafficOf } from './explore-query.ts'
import { trafficCsv } from './traffic-csv.ts'

type Query = Static<typeof EXPLORE_QUERY>
type Read = Readonly<{ traffic: Traffic; found: TrafficFound; writers: readonly WriterSeen[] }>

export function askingTraffic({ history, world }: Pick<Site, 'history' | 'world'>, lines: ExploreLines) {
  const read = async (query: Query, measure: TrafficMeasure, isFile: boolean): Promise<Read | Response> => {
    const traffic = trafficOf(query, measure, world.clock.now())
    if ('field' in traffic) return refuse(400, traffic.message, { field: traffic.field })
    const answer = await history.traffic({ ...traffic.asked, isFile })
    if (answer === undefined) return refuse(503, 'The history cannot be read now. Try again', { retryAfterS: 5 })
    if (answer.found === 'tooMuch')
      return refuse(400, 'This makes more than 20,000 rows. Choose a longer step, fewer days or a filter', { field: 'step' })
    return { traffic, found: answer.found, writers: answer.writers }
  }
  return {
    document: async (caller: Caller, query: Query, measure: TrafficMeasure) => {
      const answer = await lines.run(caller, () => read(query, measure, false))
      return answer instanceof Response ? answer : documentOf(answer)
    },
    file: (request: Request, caller: Caller, query: Query, measure: TrafficMeasure) =>
      lines.file({ request, caller, whose: clientOf(caller), find: () => read(query, measure, true), fileOf }),
  }
}

function fileOf({ traffic: { asked, fromDay, toDay }, found }: Read, onEnd: () => void): Response {
  const name = `explore-${asked.measure}-${dayText(fromDay)}-${dayText(toDay)}.csv`
  return download(trafficCsv(found.rows, asked, { onEnd }), CSV, name)
}

function documentOf({ traffic: { asked, fromDay, toDay }, found: { groups, others, total, series }, writers }: Read) {
  return {
    by: [...asked.by],
    step: asked.step,
    measure: asked.measure,
    from: dayText(fromDay),
    to: dayText(toDay),
    /** The beginning of each step. */
    places: stepsBetween(asked.fromHour, asked.toHour, asked.step).map((hour) => stepText(hour, asked.step)),
    /** `ids` null: all others. A value is null where nothing was counted. */
    series: [...series],
    data: [...groups],
    others,
    total,
    /** After when requests may be missing, because a process ended without a word. */
    lost_after: writers.flatMap(({ lostAfter }) => (lostAfter === null ? [] : [isoTime(lostAfter * 1_000)])),
  }
}
