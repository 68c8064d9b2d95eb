/** The audit log: who changed what, from where and why, with the values before and after. Rules: operator.md "Audit", "Lists". */

import { useLocation } from 'preact-iso/router'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Choice } from '../../parts/field.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { Pick } from '../../parts/pick.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showMoment } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { withMoments } from '../../parts/zone.ts'
import { api } from '../api.ts'
import { ACTORS, TARGETS } from '../choices.ts'
import { asOne, FilterForm } from '../filter-form.tsx'
import { addressOf, type Filters, filtersOf } from '../filters.ts'
import { Actor } from './actor.tsx'
import { ACTIONS, sentenceOf } from './audit.words.ts'

type AuditEntry = Got<typeof api.audit.get>['data'][number]

const FIELDS = ['target', 'actor', 'action', 'from', 'to'] as const
type Filter = (typeof FIELDS)[number]

const WHAT = [{ value: '', text: 'any' }, ...Object.entries(ACTIONS).map(([value, text]) => ({ value, text }))]

/** The rows of a full page. */
const ROWS = 50

export const AuditPage = () => {
  const { query } = useLocation()
  const filters = filtersOf(FIELDS, query)
  return (
    <>
      <PageHead title="Audit" lede="Every change, who made it and why. Lines are never edited." />
      <FilterForm path="/console/audit" filters={filters}>
        {(input) => (
          <>
            <Pick label="Account, key or other" choices={TARGETS} most={1} {...asOne(input('target'))} />
            <Pick label="By" choices={ACTORS} most={1} {...asOne(input('actor'))} />
            <Choice label="What" options={WHAT} {...input('action')} />
          </>
        )}
      </FilterForm>
      <Lines filters={filters} />
    </>
  )
}

const Lines = ({ filters: given }: Readonly<{ filters: Filters<Filter> }>) => {
  const filters = withMoments(given)
  const pages = useKeyset()
  const { cursor } = pages
  const asked = JSON.stringify(filters)
  const query = { ...filters, ...(cursor === undefined ? {} : { after: cursor }) }
  const { loaded, again } = useAsked(() => api.audit.get({ query }), [asked, cursor])
  return (
    <Show loaded={loaded} again={again} lines={10}>
      {({ data, next_cursor }) => (
        <>
          {data.length === 0 ? (
            <Empty title={next_cursor === null ? 'Nothing found' : 'None among the last 10,000'} />
          ) : (
            <Table
              label="Audit log"
              columns={[
                { name: 'When', cell: ({ at }: AuditEntry) => <Moment iso={at} /> },
                { name: 'By', onCard: 'line', cell: ({ actor, address }) => <Actor actor={actor} address={address} /> },
                { name: 'What', onCard: 'line', cell: (line) => <What line={line} /> },
                { name: 'Reason', onCard: 'line', cell: ({ reason }) => <span class="breaks">{reason}</span> },
              ]}
              rows={data}
              keyOf={({ id }) => String(id)}
            />
          )}
          <Pager {...pages} next={next_cursor} isShort={data.length > 0 && data.length < ROWS} />
        </>
      )}
    </Show>
  )
}

/** The act as a sentence; an act without words of its own with its values, one by one. */
const What = ({ line }: Readonly<{ line: AuditEntry }>) => {
  const sentence = sentenceOf(line)
  if (sentence !== undefined)
    return (
      <span class="sentence">
        {sentence.verb} <Target line={line} />
        {sentence.tail}
      </span>
    )
  return (
    <div>
      {ACTIONS[line.action] ?? line.action}: <Target line={line} />
      <Change line={line} />
    </div>
  )
}

/** What the act was done to, by its name where it has one; it leads to the account, or to all that was done to it. */
const Target = ({ line: { target, target_name } }: Readonly<{ line: AuditEntry }>) => (
  <a title={target} href={target.startsWith('acc_') ? `/console/accounts/${target}` : addressOf('/console/audit', { target })}>
    {target_name || target}
  </a>
)

/** The facts to show. A new fact is left out where it has no value, or is the id of a credit. */
const factsOf = (before: AuditEntry['before'], after: AuditEntry['after']): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => name in before || (name !== 'creditId' && after[name] !== null && after[name] !== ''),
  )

/** The values before and after, fact by fact. */
const Change = ({ line: { before, after } }: Readonly<{ line: AuditEntry }>) => (
  <dl class="diff">
    {factsOf(before, after).map((name) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>
          {name in before && (
            <>
              <del>{factText(name, before[name])}</del> →{' '}
            </>
          )}
          {name in after ? <ins>{factText(name, after[name])}</ins> : 'none'}
        </dd>
      </div>
    ))}
  </dl>
)

/** A fact as it stands in the log, with times as moments. */
function factText(name: string, value: unknown): string {
  if (typeof value === 'number' && /(At|Until)$/.test(name)) return showMoment(new Date(value).toISOString())
  if (value === null || value === undefined || value === '') return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
