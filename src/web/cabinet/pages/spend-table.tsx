/** The spend by model or key, with its sum; and tokens by kind. */

import type { Column } from '../../parts/columns.ts'
import { showCount } from '../../parts/show-time.ts'
import { usdNumber } from '../../parts/show-usd.ts'
import { Table } from '../../parts/table.tsx'
import { keyTitle } from '../key-title.ts'
import type { Spend } from '../spend-api.ts'
import type { SpendView } from '../spend-view.ts'

type Row = Omit<Spend['data'][number], 'id'> & Readonly<{ id: string | null }>

/** No tag has a name in parentheses: these are the requests without one, and those of rare tags together. */
const isNoTag = (id: string): boolean => id.startsWith('(')

/** A click on a model shows its spend alone, by key; a click on a key or tag shows its spend by model. `requestsOf`: the address of a thing's requests. */
export const SpendTable = ({
  spend,
  view,
  show,
  requestsOf,
}: Readonly<{ spend: Spend; view: SpendView; show: (changed: Partial<SpendView>) => void; requestsOf: (id: string) => string }>) => {
  const { by, data, others, total } = spend
  const rows: readonly Row[] = others === null ? data : [...data, { ...others, id: null, name: `${showCount(others.count)} others` }]
  const other = by === 'model' ? 'key' : 'model'
  const columns: readonly Column<Row>[] = [
    {
      name: { model: 'Model', key: 'Key', tag: 'Tag' }[by],
      by: ({ id, name }) => keyTitle({ id: id ?? '', name }),
      cell: ({ id, name }) =>
        id === null || view[by] === id || (by === 'tag' && isNoTag(id)) ? (
          <span class="thing">{id === null ? name : keyTitle({ id, name })}</span>
        ) : (
          <button
            type="button"
            class="as-link thing"
            title={`Show this ${by} alone`}
            onClick={() => show({ [by]: id, ...(view[other] === undefined ? { by: other } : {}) })}
          >
            {keyTitle({ id, name })}
          </button>
        ),
    },
    { name: 'Cost', onCard: 'first', usd: ({ cost_usd }) => cost_usd },
    {
      name: 'Share',
      isFigure: true,
      onCard: 'first',
      cell: ({ cost_usd }) => <span class="quiet">{shareText(cost_usd, total.cost_usd)}</span>,
    },
    {
      name: 'Requests',
      isFigure: true,
      by: ({ requests }) => requests,
      cell: ({ id, requests }) =>
        id === null || (by === 'tag' && isNoTag(id)) ? showCount(requests) : <a href={requestsOf(id)}>{showCount(requests)}</a>,
    },
    { name: 'Input', isFigure: true, by: ({ usage }) => usage.input_tokens, cell: ({ usage }) => showCount(usage.input_tokens) },
    { name: 'Output', isFigure: true, by: ({ usage }) => usage.output_tokens, cell: ({ usage }) => showCount(usage.output_tokens) },
    {
      name: 'Cache read',
      isFigure: true,
      by: ({ usage }) => usage.cache_read_input_tokens,
      cell: ({ usage }) => showCount(usage.cache_read_input_tokens),
    },
    {
      name: 'Cache write',
      isFigure: true,
      by: ({ usage }) => usage.cache_creation_input_tokens,
      cell: ({ usage }) => showCount(usage.cache_creation_input_tokens),
    },
    { name: 'Saved', usd: ({ saved_usd }) => saved_usd },
    { name: 'Not charged', usd: ({ waived_usd }) => waived_usd },
  ]
  return (
    <Table
      label={`Spend by ${by}`}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id ?? ''}
      isAll
      isLast={({ id }) => id === null}
      kept="spend"
      foot={[
        'Sum',
        total.cost_usd,
        '',
        showCount(total.requests),
        showCount(total.usage.input_tokens),
        showCount(total.usage.output_tokens),
        showCount(total.usage.cache_read_input_tokens),
        showCount(total.usage.cache_creation_input_tokens),
        total.saved_usd,
        total.waived_usd,
      ]}
    />
  )
}

/** The share of the total cost, in whole percent. */
function shareText(cost: string, total: string): string {
  const share = usdNumber(total) === 0 ? 0 : (usdNumber(cost) / usdNumber(total)) * 100
  if (share === 0) return '0 %'
  return share < 1 ? '< 1 %' : `${Math.round(share)} %`
}

type Usage = Spend['total']['usage']
const KINDS: readonly (readonly [string, (usage: Usage) => number])[] = [
  ['Input', ({ input_tokens }) => input_tokens],
  ['Output', ({ output_tokens }) => output_tokens],
  ['Cache read', ({ cache_read_input_tokens }) => cache_read_input_tokens],
  ['Cache write, 5 min', ({ cache_creation }) => cache_creation.ephemeral_5m_input_tokens],
  ['Cache write, 1 h', ({ cache_creation }) => cache_creation.ephemeral_1h_input_tokens],
]

/** A line for each kind of tokens, with its share of all tokens. */
export const Tokens = ({ usage }: Readonly<{ usage: Usage }>) => {
  const all = KINDS.reduce((sum, [, of]) => sum + of(usage), 0)
  return (
    <section class="stack tight">
      <h2>Tokens by kind</h2>
      <dl class="kinds">
        {KINDS.map(([name, of]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{showCount(of(usage))}</dd>
            <dd>
              <svg class="kind" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect width={all === 0 ? 0 : (of(usage) / all) * 100} height="1" />
              </svg>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
