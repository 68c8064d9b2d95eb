/** The filters of the list of requests, and a field that opens the request with a given id. */

import { useMemo, useState } from 'preact/hooks'
import { valuesOf } from '../../parts/choices.ts'
import { idsText } from '../../parts/explore-view.ts'
import { Field } from '../../parts/field.tsx'
import { Fold } from '../../parts/fold.tsx'
import { Pick } from '../../parts/pick.tsx'
import { dayOf } from '../../parts/zone.ts'
import { choicesOf } from '../choices.ts'
import type { Filters } from '../spend-view.ts'
import { WORDS } from './requests.words.ts'

export const RequestFilters = ({
  accountId,
  filters,
  show,
  open,
}: Readonly<{ accountId: string; filters: Filters; show: (changed: Filters) => void; open: (requestId: string) => void }>) => {
  const choices = useMemo(() => choicesOf(accountId), [accountId])
  const list = (name: 'key' | 'model' | 'outcome' | 'format') => ({
    values: valuesOf(filters[name]),
    change: (values: readonly string[]) => show({ [name]: idsText(values) }),
  })
  return (
    <Fold chosen={chosenIn(filters, choices)}>
      <div class="filters">
        <Pick label="Key" choices={choices.key} {...list('key')} />
        <Pick label="Model" choices={choices.model} {...list('model')} />
        <Pick label="Outcome" choices={choices.outcome} {...list('outcome')} />
        <Pick label="Format" choices={choices.format} {...list('format')} />
        <Field label="Tag" maxLength={64} autocomplete="off" value={filters.tag ?? ''} change={(tag) => show({ tag })} />
        <Field label="From" type="date" value={dayOf(filters.from ?? '', 'start')} change={(from) => show({ from })} />
        <Field label="To" type="date" value={dayOf(filters.to ?? '', 'end')} change={(to) => show({ to })} />
        <Search open={open} />
      </div>
    </Fold>
  )
}

const NAMES = ['key', 'model', 'outcome', 'format', 'tag', 'from', 'to'] as const

const chosenIn = (filters: Filters, choices: ReturnType<typeof choicesOf>) =>
  NAMES.flatMap((label) => {
    const value = filters[label]
    if (!value) return []
    const isDay = label === 'from' || label === 'to'
    const values = isDay ? [dayOf(value, label === 'from' ? 'start' : 'end')] : label === 'tag' ? [value] : valuesOf(value)
    return [{ label, values, choices: isDay || label === 'tag' ? undefined : choices[label] }]
  })

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
