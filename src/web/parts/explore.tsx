/** What was spent and used by what is asked: a chart, and a table whose sums are those of the chart and of the file. Rules: pages.md "Explore". */

import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type ApiResponse, useAsked } from './ask.ts'
import type { Choices } from './choices.ts'
import type { Column } from './columns.ts'
import { ExploreChart } from './explore-chart.tsx'
import { ExploreControls } from './explore-controls.tsx'
import { titlesOf } from './explore-titles.ts'
import { type ExploreView, exploreSearch, exploreViewOf, idsText, type Moments, stepSpan, type ThingName } from './explore-view.ts'
import { ExploreViews, type ViewCalls } from './explore-views.tsx'
import { type Explored, idOf, percent, type Row, type Sums, type TitleOf } from './explored.ts'
import type { Option } from './field.tsx'
import { PageHead } from './shell.tsx'
import { showCount } from './show-time.ts'
import { Empty, Show } from './state.tsx'
import { Table } from './table.tsx'
import { isTrafficAnswer, type TrafficAnswer } from './traffic-answer.ts'
import { hasUpstreamCost, knownCostNote, upstreamCostOf } from './upstream-cost.ts'

/** What operators see besides, of the history of requests. */
type Traffic = Readonly<{
  measures: readonly Option[]
  show: (answer: TrafficAnswer, only: (thing: ThingName, id: string) => void, view: ExploreView) => VNode
}>

type Options = Readonly<{
  lede: string
  /** The page's path, and that of the file. */
  path: string
  file: string
  things: readonly ThingName[]
  /** From what the filters are chosen; tags are typed. */
  choices: Readonly<Partial<Record<ThingName, Choices>>>
  ask: (query: ExploreView) => PromiseLike<ApiResponse<Explored | TrafficAnswer | Response>>
  traffic?: Traffic
  views: ViewCalls
  /** The address of the requests of a view, or of a part of its time; undefined: no list has them alone. */
  requestsOf: (view: ExploreView, part?: Moments) => string | undefined
}>

export const Explore = ({ lede, path, file, things, choices, ask, traffic, views, requestsOf }: Options) => {
  const { query, route } = useLocation()
  const view = exploreViewOf(query, Date.now())
  const search = exploreSearch(view)
  const { loaded, again } = useAsked(() => ask(view), [path, search])
  const titleOf = useMemo(() => {
    const answer = loaded.value
    return answer === undefined || isTrafficAnswer(answer) ? titlesOf([], []) : titlesOf(answer.by, answer.data)
  }, [loaded.value])
  const only = (thing: ThingName, id: string): void => route(path + exploreSearch({ ...view, [thing]: idsText([id]) }))
  const follow = (address: string | undefined): void => {
    if (address !== undefined) route(address)
  }
  return (
    <>
      <PageHead title="Explore" lede={lede}>
        <ExploreViews calls={views} path={path} view={view} />
        <a class="button" href={`${file}${search}`} download>
          CSV
        </a>
      </PageHead>
      <ExploreControls
        view={view}
        trafficMeasures={traffic?.measures ?? []}
        things={things}
        choices={choices}
        show={(changed) => route(path + changed)}
      />
      <Show loaded={loaded} again={again} lines={12}>
        {(explored) =>
          isTrafficAnswer(explored) ? (
            (traffic?.show(explored, only, view) ?? null)
          ) : explored.total.requests === 0 ? (
            <Empty title="Nothing was used">
              <p>There is no request of these days that the filters let through.</p>
            </Empty>
          ) : (
            <>
              <ExploreChart
                explored={explored}
                titleOf={titleOf}
                open={
                  requestsOf(view) === undefined ? undefined : (place) => follow(requestsOf(view, stepSpan(view, explored.step, place)))
                }
              />
              <CostNote total={explored.total} />
              <ExploreTable explored={explored} titleOf={titleOf} only={only} requestsOf={(chosen) => requestsOf({ ...view, ...chosen })} />
            </>
          )
        }
      </Show>
    </>
  )
}

const CostNote = ({ total }: Readonly<{ total: Sums }>) => {
  const note = knownCostNote(total)
  return note === null ? null : <p class="quiet">{note}</p>
}

const heading = (name: ThingName): string => `${name[0]?.toUpperCase()}${name.slice(1)}`
const count = (name: string, of: (row: Row) => number): Column<Row> => ({ name, isFigure: true, by: of, cell: (row) => showCount(of(row)) })

type TableOptions = Readonly<{
  explored: Explored
  titleOf: TitleOf
  only: (thing: ThingName, id: string) => void
  requestsOf: (only: Readonly<Partial<Record<ThingName, string>>>) => string | undefined
}>

const ExploreTable = (options: TableOptions) => {
  const { by: names, data, others, total } = options.explored
  const rows: readonly Row[] = others === null ? data : [...data, { ...others, things: [] }]
  return (
    <Table
      label={`Sums by ${names.join(' and ')}`}
      columns={[...names.map((name, at) => thingColumn(options, name, at)), ...sumColumns(options)]}
      rows={rows}
      keyOf={({ things }) => idOf(things)}
      isAll
      isLast={({ things }) => things.length === 0}
      kept="explore"
      foot={['All', ...names.slice(1).map(() => ''), ...footOf(total)]}
    />
  )
}

const thingColumn = ({ explored, titleOf, only }: TableOptions, name: ThingName, at: number): Column<Row> => ({
  name: heading(name),
  by: ({ things }) => (things[at] === undefined ? 'others' : titleOf(name, things[at].id)),
  cell: ({ things }) => {
    const thing = things[at]
    if (thing === undefined) return <span class="thing">{at === 0 ? `${showCount(explored.others?.count ?? 0)} others` : ''}</span>
    return (
      <button type="button" class="as-link thing" title={`Show this ${name} alone`} onClick={() => only(name, thing.id)}>
        {titleOf(name, thing.id)}
      </button>
    )
  },
})

const sumColumns = ({ explored, requestsOf }: TableOptions): readonly Column<Row>[] => [
  { name: 'Spend', onCard: 'first', usd: ({ cost_usd }) => cost_usd },
  {
    ...count('Requests', ({ requests }) => requests),
    onCard: 'first',
    cell: ({ requests, things }) => {
      const address =
        things.length === 0 ? undefined : requestsOf(Object.fromEntries(things.map(({ id }, at) => [explored.by[at], idsText([id])])))
      return address === undefined ? showCount(requests) : <a href={address}>{showCount(requests)}</a>
    },
  },
  count('Input', ({ usage }) => usage.input_tokens),
  count('Output', ({ usage }) => usage.output_tokens),
  count('Cache read', ({ usage }) => usage.cache_read_input_tokens),
  count('Cache write', ({ usage }) => usage.cache_creation_input_tokens),
  {
    name: 'Cache hits',
    isFigure: true,
    by: ({ cache_hit_thousandths }) => cache_hit_thousandths ?? -1,
    cell: ({ cache_hit_thousandths }) => percent(cache_hit_thousandths),
  },
  { name: 'Not charged', usd: ({ waived_usd }) => waived_usd },
  ...(hasUpstreamCost(explored.total) ? [{ name: 'Upstream cost', usd: (row: Row) => upstreamCostOf(row) }] : []),
]

const footOf = ({ usage, ...total }: Sums) => [
  total.cost_usd,
  showCount(total.requests),
  showCount(usage.input_tokens),
  showCount(usage.output_tokens),
  showCount(usage.cache_read_input_tokens),
  showCount(usage.cache_creation_input_tokens),
  percent(total.cache_hit_thousandths),
  total.waived_usd,
  ...(hasUpstreamCost(total) ? [upstreamCostOf(total)] : []),
]
