/**
 * Refusals and first bytes on Explore: refusals as bars that add up, first bytes as lines that do not, and a table of the same groups. Where nothing was counted there is a gap.
 * Rules: pages.md "Explore".
 */

import type { Column } from '../../parts/columns.ts'
import type { GroupName, ThingName } from '../../parts/explore-view.ts'
import { showCount, showMoment } from '../../parts/show-time.ts'
import { Empty } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import type { TrafficAnswer, TrafficGroup } from '../../parts/traffic-answer.ts'
import { showMs, wordsOf } from './now.words.ts'
import { type Behind, TrafficChart } from './traffic-chart.tsx'

export const TRAFFIC_MEASURES = [
  { value: 'refusals', text: 'Refusals' },
  { value: 'first_byte_p50', text: 'First byte, p50' },
  { value: 'first_byte_p95', text: 'First byte, p95' },
  { value: 'first_byte_p99', text: 'First byte, p99' },
]

type Options = Readonly<{ answer: TrafficAnswer; only: (thing: ThingName, id: string) => void }>

export const Traffic = ({ answer, only, behind }: Options & Readonly<{ behind: Behind }>) => (
  <>
    {answer.total.requests === 0 ? (
      <Empty title="Nothing was counted">
        <p>There is no request of these days in the history that the filters let through.</p>
      </Empty>
    ) : answer.data.length === 0 ? (
      <Empty title="Nothing was refused">
        <p>None of the {showCount(answer.total.requests ?? 0)} requests of these days was refused.</p>
      </Empty>
    ) : (
      <>
        <TrafficChart answer={answer} behind={behind} />
        <TrafficTable answer={answer} only={only} />
      </>
    )}
    <Lost answer={answer} />
  </>
)

/** The latest are named, since a month may have many. */
const LOST_NAMED_MAX = 5

const Lost = ({ answer: { lost_after } }: Readonly<{ answer: TrafficAnswer }>) => {
  if (lost_after.length === 0) return null
  const earlier = lost_after.length - LOST_NAMED_MAX
  const named = lost_after.toSorted().slice(-LOST_NAMED_MAX).map(showMoment).join(', ')
  return (
    <p class="quiet">
      Processes ended unexpectedly after {named}
      {earlier > 0 && ` and ${showCount(earlier)} times earlier`}: the requests of up to ten seconds may be missing there.
    </p>
  )
}

const TrafficTable = (options: Options) => {
  const { by, data, others, total } = options.answer
  const figures = by.includes('reason') ? [REFUSED] : [REQUESTS, REFUSED, SHARE, ...FIRST_BYTES]
  const rows: readonly TrafficGroup[] = others === null ? data : [...data, { ...others, ids: [] }]
  return (
    <Table
      label={`Refusals and first bytes by ${by.join(' and ')}`}
      columns={[...by.map((name, at) => thingColumn(options, name, at)), ...figures]}
      rows={rows}
      keyOf={({ ids }) => JSON.stringify(ids)}
      isAll
      isLast={({ ids }) => ids.length === 0}
      foot={['All', ...by.slice(1).map(() => ''), ...figures.map(({ cell }) => cell?.({ ...total, ids: [] }, 0) ?? '')]}
    />
  )
}

const thingColumn = ({ answer, only }: Options, name: GroupName, at: number): Column<TrafficGroup> => ({
  name: `${name[0]?.toUpperCase()}${name.slice(1)}`,
  by: ({ ids }) => ids[at] ?? 'others',
  cell: ({ ids }) => {
    const id = ids[at]
    if (id === undefined) return <span class="thing">{at === 0 ? `${showCount(answer.others?.count ?? 0)} others` : ''}</span>
    if (name === 'reason') return <span class="thing">{wordsOf(id)}</span>
    return (
      <button type="button" class="as-link thing" title={`Show this ${name} alone`} onClick={() => only(name, id)}>
        {id}
      </button>
    )
  },
})

const REQUESTS: Column<TrafficGroup> = {
  name: 'Requests',
  isFigure: true,
  by: ({ requests }) => requests ?? 0,
  cell: ({ requests }) => showCount(requests ?? 0),
}
const REFUSED: Column<TrafficGroup> = {
  name: 'Refused',
  isFigure: true,
  onCard: 'first',
  by: ({ refused }) => refused,
  cell: ({ refused }) => showCount(refused),
}
const shareOf = ({ requests, refused }: TrafficGroup): number | null => (requests ? refused / requests : null)
const SHARE: Column<TrafficGroup> = {
  name: 'Refused of all',
  isFigure: true,
  by: (row) => shareOf(row) ?? -1,
  cell: (row) => {
    const share = shareOf(row)
    return share === null ? '–' : `${(share * 100).toFixed(1)} %`
  },
}
const FIRST_BYTES: readonly Column<TrafficGroup>[] = (['p50_ms', 'p95_ms', 'p99_ms'] as const).map((name) => ({
  name: `First byte ${name.replace('_ms', '')}`,
  isFigure: true,
  by: (row) => row[name] ?? -1,
  cell: (row) => showMs(row[name]),
}))
