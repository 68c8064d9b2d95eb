/** What Explore asks for: a measure, what tells sums apart, steps and a span, and the filters that are on. */

import { useState } from 'preact/hooks'
import { type ExploreView, exploreSearch, filtersIn, namesIn, spansAt, type ThingName } from './explore-view.ts'
import { Choice, Field } from './field.tsx'

export const MEASURES = [
  { value: 'spend', text: 'Spend' },
  { value: 'requests', text: 'Requests' },
  { value: 'input', text: 'Input tokens' },
  { value: 'output', text: 'Output tokens' },
  { value: 'cache_read', text: 'Cache reads' },
  { value: 'cache_write', text: 'Cache writes' },
  { value: 'cache_hits', text: 'Cache hit rate' },
]
const STEPS = ['hour', 'day', 'week', 'month'].map((value) => ({ value, text: value }))

type Controls = Readonly<{
  view: ExploreView
  things: readonly ThingName[]
  /** The name of an id of the shown rows, or the id. */
  titleOf: (thing: ThingName, id: string) => string
  show: (search: string) => void
}>

export const ExploreControls = ({ view, things, titleOf, show }: Controls) => {
  const [first = 'model', second = ''] = namesIn(view.by)
  const change = (changed: Partial<ExploreView>): void => show(exploreSearch({ ...view, ...changed }))
  const options = things.map((value) => ({ value, text: value }))
  return (
    <div class="stack tight">
      <fieldset class="segments">
        <legend class="unseen">Time</legend>
        {spansAt(Date.now()).map(({ text, ...span }) => (
          <button key={text} type="button" aria-pressed={view.from === span.from && view.to === span.to} onClick={() => change(span)}>
            {text}
          </button>
        ))}
      </fieldset>
      <div class="filters">
        <Choice label="Show" options={MEASURES} value={view.measure} change={(measure) => change({ measure })} />
        <Choice
          label="By"
          options={options}
          value={first}
          change={(by) => change({ by: second && second !== by ? `${by},${second}` : by })}
        />
        <Choice
          label="and by"
          options={[{ value: '', text: '–' }, ...options.filter(({ value }) => value !== first)]}
          value={second}
          change={(by) => change({ by: by === '' ? first : `${first},${by}` })}
        />
        <Choice label="In steps of" options={STEPS} value={view.step} change={(step) => change({ step })} />
        <Days key={`${view.from} ${view.to}`} view={view} change={change} />
      </div>
      <div class="chips">
        {filtersIn(view).flatMap(([thing, ids]) =>
          ids.map((id) => (
            <button
              key={`${thing} ${id}`}
              type="button"
              class="chip"
              aria-label={`Only ${thing} ${titleOf(thing, id)}: take away`}
              onClick={() => change({ [thing]: ids.filter((one) => one !== id).join() })}
            >
              <span class="quiet">{thing}</span> <span class="cut">{titleOf(thing, id)}</span> <span aria-hidden="true">✕</span>
            </button>
          )),
        )}
      </div>
    </div>
  )
}

/** A span is shown when both days are there and in order, so that no half of one is asked for. */
const Days = ({ view, change }: Readonly<{ view: ExploreView; change: (changed: Partial<ExploreView>) => void }>) => {
  const [from, setFrom] = useState(view.from)
  const [to, setTo] = useState(view.to)
  const shown = (days: Readonly<{ from: string; to: string }>): void => {
    if (days.from !== '' && days.to !== '' && days.from <= days.to) change(days)
  }
  return (
    <>
      <Field
        label="From (UTC)"
        type="date"
        value={from}
        max={to}
        change={(day) => {
          setFrom(day)
          shown({ from: day, to })
        }}
      />
      <Field
        label="To (included)"
        type="date"
        value={to}
        min={from}
        change={(day) => {
          setTo(day)
          shown({ from, to: day })
        }}
      />
    </>
  )
}
