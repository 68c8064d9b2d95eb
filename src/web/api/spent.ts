/**
 * What was spent in a span, for the console's overview: by model, account or key, in hours or days of UTC, each beside the span before. The same rows as Explore's, so that the
 * figures behind its links are the same. Rules: pages.md "Now", "Explore".
 */

import { Elysia, t } from 'elysia'
import type { Step } from '../../core/explore.ts'
import { type Picos, picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { dayAt, isoTime } from '../../core/utc.ts'
import { HOUR_MS } from '../../core/windows.ts'
import { type ExploredRow, ROWS_MAX, wholeExplored } from '../../ledger/reading/explore.ts'
import { inTurns } from '../../ledger/reading/loop-turns.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE, oneOf } from './console-acts.ts'
import { exploreDocument } from './explore-document.ts'
import { clientOf, type ExploreLines } from './explore-lines.ts'
import { SPAN_FIELDS, type Times, timesOf } from './span-times.ts'
import { refuseUnread } from './unread.ts'

const BY = ['model', 'account', 'key'] as const
type By = (typeof BY)[number]
const QUERY = t.Object({ ...SPAN_FIELDS, by: t.Optional(oneOf(BY, 'By model, account or key')) })
/** The rows of the page. */
const SHOWN = 10
/** A longer span is in steps of days. */
const HOURLY_MAX = 48

export function spentRoutes({ world, people }: Site, lines: ExploreLines) {
  const { clock, reports } = world
  const read = async (caller: Caller, { from, to }: Times, by: By) => {
    const [fromHour, toHour] = [Math.floor(from / HOUR_MS), Math.floor((to - 1) / HOUR_MS)]
    const hours = toHour - fromHour + 1
    const step: Step = hours > HOURLY_MAX ? 'day' : 'hour'
    const asked = { fromHour, toHour, by: [by], step, only: {} }
    const whole = (query: Parameters<typeof wholeExplored>[2]['query']) =>
      wholeExplored(reports, clientOf(caller), { query, rowsMax: ROWS_MAX })
    const now = await whole(asked)
    const before = typeof now === 'string' ? now : await whole({ ...asked, fromHour: fromHour - hours, toHour: fromHour - 1, step: null })
    if (now === 'tooMuch' || before === 'tooMuch')
      return refuse(400, 'There are more than 50,000 of these. Choose a shorter time', { field: 'by' })
    if (typeof now === 'string') return refuseUnread(now)
    if (typeof before === 'string') return refuseUnread(before)
    const explore = { asked, step, measure: 'spend' as const, fromDay: dayAt(from), toDay: dayAt(to - 1) }
    const { data, series, places, total } = await inTurns(exploreDocument(now, explore, true))
    const costsBefore = await inTurns(costsOf(before))
    return {
      /** Whole hours. */
      from: isoTime(fromHour * HOUR_MS),
      to: isoTime((toHour + 1) * HOUR_MS),
      by,
      step_s: step === 'hour' ? 3_600 : 86_400,
      places: places.map((place) => (step === 'hour' ? place : `${place}T00:00:00Z`)),
      series,
      data: data.slice(0, SHOWN).map((row) => ({ ...row, before_usd: toExactUsdText(costsBefore.get(row.things[0]?.id ?? '') ?? ZERO) })),
      total: { ...total, before_usd: toExactUsdText(picos([...costsBefore.values()].reduce((sum, cost) => sum + cost, 0n))) },
    }
  }
  return new Elysia({ name: 'console spent', prefix: '/console/api' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/spent',
      ({ caller, query: { by = 'model', ...edges } }) => {
        const times = timesOf(edges, clock.now())
        return times instanceof Response ? times : lines.run(caller, () => read(caller, times, by))
      },
      { person: true, query: QUERY },
    )
}

/** The cost of each thing over a whole span, of which it has one row. */
function* costsOf(rows: readonly ExploredRow[]) {
  const costs = new Map<string, Picos>()
  for (const { things, costPicos } of rows) {
    costs.set(things[0]?.id ?? '', costPicos)
    yield
  }
  return costs
}
