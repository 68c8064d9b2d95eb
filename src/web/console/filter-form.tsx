/** The filters of a list of the console. The list is asked for when the form is sent, not while an operator types; the page's address has the filters. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type Choices, valuesOf } from '../parts/choices.ts'
import { idsText } from '../parts/explore-view.ts'
import { Field } from '../parts/field.tsx'
import { type Chosen, Fold } from '../parts/fold.tsx'
import { ZoneChoice } from '../parts/zone-choice.tsx'
import { addressOf, type Filters } from './filters.ts'

type Input = Readonly<{ value: string; change: (value: string) => void }>
type ListInput = Readonly<{ values: readonly string[]; change: (values: readonly string[]) => void }>

/** The input of a filter of several values, which the address has with commas between. */
export const asList = ({ value, change }: Input): ListInput => ({ values: valuesOf(value), change: (values) => change(idsText(values)) })

/** The input of a filter of one value, which the address has as it is. */
export const asOne = ({ value, change }: Input): ListInput => ({
  values: value === '' ? [] : [value],
  change: ([one = '']) => change(one),
})

/** `path`: the path of the page. `isUtcDays`: its days are UTC days, whatever zone is shown elsewhere. `choices`: what filters of several values are chosen from. `children`: the inputs of this list, beside the range of time, which all lists have. */
type Options<Name extends string> = Readonly<{
  path: string
  filters: Filters<Name>
  isUtcDays?: boolean
  choices?: Readonly<Partial<Record<Name, Choices>>>
  children: (input: (name: Name) => Input) => ComponentChildren
}>

/** The form is made anew when the address changes, so that its inputs follow, and a phone has the list in sight again. */
export const FilterForm = <Name extends string>(options: Options<Name | 'from' | 'to'>) => (
  <Fold key={JSON.stringify(options.filters)} chosen={chosenIn(options)}>
    <Inputs {...options} />
  </Fold>
)

const chosenIn = <Name extends string>({ filters, choices }: Options<Name>): readonly Chosen[] =>
  Object.entries<string | undefined>(filters).flatMap(([name, value]) => {
    const found = choices?.[name as Name]
    const values = found === undefined ? [value ?? ''] : valuesOf(value)
    return value ? [{ label: name.replace('_id', ''), values, choices: found }] : []
  })

const Inputs = <Name extends string>({ path, filters, isUtcDays = false, children }: Options<Name | 'from' | 'to'>) => {
  const { route } = useLocation()
  const [typed, setTyped] = useState(filters)
  const input = (name: Name | 'from' | 'to'): Input => ({
    value: typed[name] ?? '',
    change: (value) => setTyped({ ...typed, [name]: value }),
  })
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        route(addressOf(path, typed))
      }}
    >
      {children(input)}
      <div class="range">
        <Field label={isUtcDays ? 'From (UTC)' : 'From'} type="date" {...input('from')} />
        <Field label={isUtcDays ? 'To (included)' : 'To'} type="date" {...input('to')} />
      </div>
      <button type="submit" class="primary">
        Filter
      </button>
      {!isUtcDays && <ZoneChoice />}
    </form>
  )
}
