/** What was charged and what it cost us, for operators alone: by day, account, model or upstream, and all of it as a file. Rules: money.md "Margin"; pages.md "Margin". */

import { Elysia, type Static, t } from 'elysia'
import { type Cell, csvLine } from '../../core/csv.ts'
import { type Picos, toExactUsdText } from '../../core/money.ts'
import { dayText } from '../../core/utc.ts'
import { MARGIN_BY, marginIn, upstreamCostIn, wholeMargin } from '../../ledger/reading/margin.ts'
import type { MarginRow } from '../../ledger/reading/margin-reads.ts'
import type { Site } from '../site.ts'
import { type Caller, callerMacro } from './caller.ts'
import { NO_STORE, oneOf } from './console-acts.ts'
import { CSV, download, refuseForeign } from './download.ts'
import { marginDocument } from './margin-document.ts'
import { daysOf } from './spend-query.ts'
import { refuseUnread } from './unread.ts'
import { values, valuesIn } from './value-lists.ts'

/** The most rows that the page shows; the file has all. */
const ROWS_MAX = 500
const DAY = t.Optional(t.String({ pattern: '^([0-9]{4}-[0-9]{2}-[0-9]{2})?$', description: 'A UTC day such as 2026-11-22' }))
const QUERY = t.Object({
  from: DAY,
  to: DAY,
  account_id: values('accounts'),
  model: values('models'),
  upstream: values('upstreams'),
  by: t.Optional(oneOf(MARGIN_BY, 'By day, account, model or upstream')),
})

export function marginRoutes({ world, people }: Site) {
  const read = async (caller: Caller, query: Static<typeof QUERY>) => {
    const days = daysOf(given(query), world.clock.now())
    if (days instanceof Response) return days
    const listed = valuesIn(query, ['account_id', 'model', 'upstream'])
    if (listed instanceof Response) return listed
    const of = { accountIds: listed.account_id, modelIds: listed.model, upstreams: listed.upstream }
    const rows = await wholeMargin(world.reports, `person:${caller.person.id}`, { ...days, ...of })
    return typeof rows === 'string' ? refuseUnread(rows) : { rows, days }
  }
  return new Elysia({ name: 'margin', prefix: '/console/api' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      Object.assign(set.headers, NO_STORE)
    })
    .get(
      '/margin',
      async ({ caller, query }) => {
        const found = await read(caller, query)
        if (found instanceof Response) return found
        return marginDocument(found.rows, { by: query.by ?? 'day', ...found.days }, ROWS_MAX, world.catalog())
      },
      { person: true, query: QUERY },
    )
    .get(
      '/margin.csv',
      async ({ caller, query, request }) => {
        const foreign = refuseForeign(request)
        if (foreign !== undefined) return foreign
        const found = await read(caller, query)
        if (found instanceof Response) return found
        const name = `margin-${dayText(found.days.fromDay)}-${dayText(found.days.toDay)}.csv`
        return download(csvLine(COLUMNS.map((column) => column.name)) + found.rows.map(lineOf).join(''), CSV, name)
      },
      { person: true, query: QUERY },
    )
}

/** A form sends its empty inputs, too. */
const given = ({ from, to }: Static<typeof QUERY>) => ({ ...(from ? { from } : {}), ...(to ? { to } : {}) })

const usd = (amount: Picos): Cell => ({ decimal: toExactUsdText(amount) })
const COLUMNS: readonly Readonly<{ name: string; of: (row: MarginRow) => Cell }>[] = [
  { name: 'date', of: ({ day }) => dayText(day) },
  { name: 'account_id', of: ({ accountId }) => accountId },
  { name: 'account_name', of: ({ accountName }) => accountName },
  { name: 'model', of: ({ modelId }) => modelId },
  { name: 'upstream', of: ({ upstream }) => upstream },
  { name: 'requests', of: ({ requests }) => requests },
  { name: 'other_calls', of: ({ calls }) => calls },
  { name: 'charged_usd_exact', of: ({ chargedPicos }) => usd(chargedPicos) },
  { name: 'waived_usd_exact', of: ({ waivedPicos }) => usd(waivedPicos) },
  { name: 'upstream_cost_usd_exact', of: (row) => usd(upstreamCostIn(row)) },
  { name: 'other_calls_cost_usd_exact', of: ({ callsCostPicos }) => usd(callsCostPicos) },
  { name: 'cache_lost_usd_exact', of: ({ cacheLostPicos }) => usd(cacheLostPicos) },
  { name: 'margin_usd_exact', of: (row) => usd(marginIn(row)) },
]
const lineOf = (row: MarginRow): string => csvLine(COLUMNS.map(({ of }) => of(row)))
