/**
 * Requests, refusals and times of a span, by model or by upstream, over all processes and nodes, with what happened in it. A chart's parts and its marks come in one
 * document, so that they are of one moment. Rules: pages.md "History".
 */

import { Elysia, t } from 'elysia'
import type { HistoryFound, WriterSeen } from '../../core/history/kept.ts'
import { partsOf, spanOf } from '../../core/history/series.ts'
import { isoTime } from '../../core/utc.ts'
import type { AuditRow } from '../../ledger/reading/operator-lists.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { type ConsoleActs, NO_STORE, oneOf } from './console-acts.ts'
import { SPAN_FIELDS, type Times, timesOf } from './span-times.ts'

const ACCOUNTS = 10
const LINES_MAX = 24
const MARKS_MAX = 50
const MARKED = ['setUpstreamOut', 'failover', 'reload'] as const
const REFUSED = 'refuseReload'

const QUERY = t.Object({
  ...SPAN_FIELDS,
  by: t.Optional(oneOf(['model', 'upstream'], 'By model or by upstream')),
})

export function historyRoutes(site: Site, { ask }: ConsoleActs) {
  const { world, people, history } = site
  return new Elysia({ name: 'history', prefix: '/console/api' }).use(callerMacro(people, 'console')).get(
    '/history',
    async ({ caller, query: { by = 'upstream', ...edges }, set }) => {
      Object.assign(set.headers, NO_STORE)
      const now = world.clock.now()
      const times = timesOf(edges, now)
      if (times instanceof Response) return times
      const asked = spanOf(times.from, times.to, now)
      const found = await history.read({ span: asked, by })
      if (found === undefined) return refuse(503, 'The history cannot be read now. Try again', { retryAfterS: 5 })
      return {
        from: isoTime(asked.from * 1_000),
        to: isoTime(asked.to * 1_000),
        part_s: asked.partS,
        parts: [...partsOf(asked)],
        all: found.all,
        lines: found.lines.slice(0, LINES_MAX),
        accounts: await accountsOf(found, caller, ask),
        marks: [...found.writers.flatMap((writer) => writerMarks(writer, asked)), ...(await actsOf(times, caller, ask))].toSorted((a, b) =>
          a.at.localeCompare(b.at),
        ),
      }
    },
    { person: true, query: QUERY },
  )
}

/** The accounts with the most requests, by name; a name that cannot be read now is ''. `before`: requests in the span before. */
async function accountsOf({ accounts, accountsBefore }: HistoryFound, caller: Caller, ask: ConsoleActs['ask']) {
  const before = new Map(accountsBefore.map(({ account, requests }) => [account, requests]))
  const named = []
  for (const { account, requests, refused } of accounts.filter((one) => one.account !== '').slice(0, ACCOUNTS)) {
    const page = await ask<'accounts'>(caller, { kind: 'accounts', search: account, limit: 1 })
    const name = page === undefined || page instanceof Response ? '' : (page.rows.find(({ id }) => id === account)?.name ?? '')
    named.push({ id: account, name, requests, refused, before: before.get(account) ?? 0 })
  }
  return named
}

/** What operators did in the span, as far as it can be read now; a reload that was refused behind its line, or that changed nothing, came to nothing. */
async function actsOf(times: Times, caller: Caller, ask: ConsoleActs['ask']): Promise<readonly Mark[]> {
  const rows: AuditRow[] = []
  for (const action of [...MARKED, REFUSED]) {
    const page = await ask<'audit'>(caller, { kind: 'audit', action, ...times, limit: MARKS_MAX })
    if (!(page instanceof Response)) rows.push(...page.rows)
  }
  const refused = rows.filter(({ action }) => action === REFUSED).map(({ at }) => at)
  return rows.flatMap((row) => {
    const kind = MARKED.find((action) => action === row.action)
    return kind === undefined || (kind === 'reload' && (refused.includes(row.at) || factsOf(row).changes === 0)) ? [] : [actMark(row, kind)]
  })
}

type Mark = Readonly<{ at: string; kind: 'began' | 'lost' | (typeof MARKED)[number]; what: string }>

const writerMarks = ({ beganAt, lostAfter }: WriterSeen, { from }: Readonly<{ from: number }>): readonly Mark[] => [
  ...(beganAt >= from ? [{ at: isoTime(beganAt * 1_000), kind: 'began' as const, what: '' }] : []),
  ...(lostAfter !== null && lostAfter >= from ? [{ at: isoTime(lostAfter * 1_000), kind: 'lost' as const, what: '' }] : []),
]

const actMark = (row: AuditRow, kind: (typeof MARKED)[number]): Mark => ({
  at: isoTime(row.at),
  kind,
  what: kind === 'setUpstreamOut' ? `${row.target} ${factsOf(row).isOut === false ? 'back' : 'out'}` : (factsOf(row).node ?? ''),
})

const factsOf = ({ after }: AuditRow) => JSON.parse(after) as Readonly<{ isOut?: boolean; changes?: number; node?: string }>
