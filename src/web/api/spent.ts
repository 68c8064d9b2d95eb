/**
 * What was spent in a span, for the console's overview: by model, account or key, in hours or days of UTC, each beside the span before. The sums are Explore's, so that the
 * figures behind its links are the same. Rules: pages.md "Now", "Explore".
 */

import { Elysia, t } from 'elysia'
import { SERIES_MAX, SHOWN_ROWS_MAX, type Step } from '../../core/explore.ts'
import { type Picos, picos, toExactUsdText, ZERO } from '../../core/money.ts'
import { dayAt, isoTime } from '../../core/utc.ts'
import { HOUR_MS } from '../../core/windows.ts'
import { byCost, type ExploredRow, wholeGroups } from '../../ledger/reading/explore.ts'
import type { ExploreQuery } from '../../ledger/reading/explore-reads.ts'
import { firstOf, inTurns } from '../../ledger/reading/loop-turns.ts'
import type { Unread } from '../../ledger/reading/reports.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE, oneOf } from './console-acts.ts'
import { documentOf, type Shown, valuesOf } from './explore-document.ts'
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
    const whole: Asking = (changed) => wholeGroups(reports, clientOf(caller), { query: { ...asked, ...changed }, measure: 'spend' })
    const before = await whole({ fromHour: fromHour - hours, toHour: fromHour - 1, step: null, isCostAlone: true })
    if (typeof before === 'string') return refused(before)
    const now = await shownOf(whole, by)
    if (typeof now === 'string') return refused(now)
    const explore = { asked, step, measure: 'spend' as const, fromDay: dayAt(from), toDay: dayAt(to - 1) }
    const { data, series, places, total } = await inTurns(documentOf(now, explore, true))
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

const refused = (why: 'tooMuch' | Unread): Response =>
  why === 'tooMuch' ? refuse(400, 'There are more than 50,000 of these. Choose a shorter time', { field: 'by' }) : refuseUnread(why)

/** `changed`: in what a question differs from the page's. */
type Asking = (changed: Partial<ExploreQuery>) => ReturnType<typeof wholeGroups>
type Found = Shown | 'tooMuch' | Unread

/**
 * Models are few, so one read has all of them in all steps. Ten thousand keys, each in thirty steps, would be more than an answer has: the steps are asked for of those that
 * have a series, and then of all together. A request that ends between these reads is in the later ones alone, so what all have less what the series have is never below 0.
 */
async function shownOf(whole: Asking, by: By): Promise<Found> {
  const isOfFew = by === 'model'
  const found = await whole(isOfFew ? {} : { step: null })
  if (typeof found === 'string') return found
  const { first: groups, others } = await inTurns(firstOf(found, byCost, SHOWN_ROWS_MAX))
  const dearest = groups.slice(0, SERIES_MAX)
  const ofSeries =
    isOfFew || dearest.length === 0
      ? groups
      : await whole({ only: { [by]: dearest.map(({ things }) => things[0]?.id ?? '') }, isCostAlone: true })
  if (typeof ofSeries === 'string') return ofSeries
  const ofAll = isOfFew || groups.length <= SERIES_MAX ? [] : await whole({ by: [], isCostAlone: true })
  if (typeof ofAll === 'string') return ofAll
  const values = await inTurns(valuesOf(ofSeries, isOfFew ? others : []))
  const costOf = (id: string, hour: number): bigint => BigInt(values.get(id)?.get(hour)?.value ?? 0)
  const ofTime = await inTurns(valuesOf(ofAll))
  const restAt = (hour: number): bigint => {
    const all = [...ofTime.values()].reduce((sum, of) => sum + BigInt(of.get(hour)?.value ?? 0), 0n)
    return dearest.reduce((rest, { id }) => rest - costOf(id, hour), all)
  }
  const valueAt = (hour: number, id: string) => toExactUsdText(picos(id === '' && ofAll.length > 0 ? restAt(hour) : costOf(id, hour)))
  return { groups, others, valueAt }
}

/** The cost of each thing over a whole span. */
function* costsOf(groups: readonly ExploredRow[]) {
  const costs = new Map<string, Picos>()
  for (const { things, costPicos } of groups) {
    costs.set(things[0]?.id ?? '', costPicos)
    yield
  }
  return costs
}
