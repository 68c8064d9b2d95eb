/** The filters of the list of requests, and a field that opens the request with a given id. */

import { useState } from 'preact/hooks'
import { useAsked } from '../../parts/ask.ts'
import { Choice, Field } from '../../parts/field.tsx'
import { dayOf } from '../../parts/zone.ts'
import { api } from '../api.ts'
import { keysOf } from '../keys-api.ts'
import { keyTitle } from '../spend-api.ts'
import type { Filters } from '../spend-view.ts'
import { OUTCOME_OPTIONS, WORDS } from './requests.words.ts'

export const RequestFilters = ({
  accountId,
  filters,
  show,
  open,
}: Readonly<{ accountId: string; filters: Filters; show: (changed: Filters) => void; open: (requestId: string) => void }>) => {
  const keys = useAsked(() => keysOf(accountId).get({ query: {} }), [accountId]).loaded.value?.data ?? []
  const models = useAsked(() => api.gateway.get(), []).loaded.value?.models ?? []
  return (
    <div class="filters">
      <Choice
        label="Key"
        value={filters.key ?? ''}
        options={optionsOf(
          keys.map((key) => ({ value: key.id, text: keyTitle(key) })),
          filters.key,
        )}
        change={(key) => show({ key })}
      />
      <Choice
        label="Model"
        value={filters.model ?? ''}
        options={optionsOf(
          models.map(({ id }) => ({ value: id, text: id })),
          filters.model,
        )}
        change={(model) => show({ model })}
      />
      <Field label="Tag" maxLength={64} autocomplete="off" value={filters.tag ?? ''} change={(tag) => show({ tag })} />
      <Choice label="Outcome" value={filters.outcome ?? ''} options={OUTCOME_OPTIONS} change={(outcome) => show({ outcome })} />
      <Field label="From" type="date" value={dayOf(filters.from ?? '', 'start')} change={(from) => show({ from })} />
      <Field label="To" type="date" value={dayOf(filters.to ?? '', 'end')} change={(to) => show({ to })} />
      <Search open={open} />
    </div>
  )
}

type Option = Readonly<{ value: string; text: string }>

/** The listed options, with the chosen one even where it is no longer listed. */
const optionsOf = (listed: readonly Option[], chosen: string | undefined): readonly Option[] => [
  { value: '', text: 'All' },
  ...listed,
  ...(chosen === undefined || listed.some(({ value }) => value === chosen) ? [] : [{ value: chosen, text: chosen }]),
]

const Search = ({ open }: Readonly<{ open: (requestId: string) => void }>) => {
  const [text, setText] = useState('')
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') open(text.trim())
      }}
    >
      <Field label="Request id" type="search" placeholder="req_…" spellcheck={false} autocomplete="off" value={text} change={setText} />
      <button type="submit" title={WORDS.searchHint}>
        Open
      </button>
    </form>
  )
}
