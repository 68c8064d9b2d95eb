/** What Explore asks for: a measure, what tells sums apart, steps and a span, and the filters that are on. */

import { useState } from 'preact/hooks'
import { type Choices, TAGS, valuesOf } from './choices.ts'
import {
  type ExploreView,
  exploreSearch,
  filtersIn,
  foreignFilters,
  groupsOf,
  idsText,
  isTraffic,
  measuredBy,
  namesIn,
  spansAt,
  type ThingName,
} from './explore-view.ts'
import { Choice, Field, type Option } from './field.tsx'
import { Fold } from './fold.tsx'
import { Pick } from './pick.tsx'

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
  /** More that can be shown, of the history of requests. */
  trafficMeasures: readonly Option[]
  things: readonly ThingName[]
  /** From what the filters are chosen. */
  choices: Readonly<Partial<Record<ThingName, Choices>>>
  show: (search: string) => void
}>

export const ExploreControls = ({ view, trafficMeasures, things, choices, show }: Controls) => {
  const [first = 'model', second = ''] = namesIn(view.by)
  const change = (changed: Partial<ExploreView>): void => show(exploreSearch({ ...view, ...changed }))
  const groups = groupsOf(view.measure, things)
  const all = view.measure === 'refusals' ? [...things, 'reason' as const] : things
  const options = all.map((value) => ({ value, text: value, isDisabled: !groups.includes(value) }))
  const foreign = foreignFilters(view)
  const measures = [...MEASURES, ...trafficMeasures.map((one) => ({ ...one, isDisabled: foreign.length > 0 }))]
  return (
    <div class="stack tight">
      <fieldset class="segments">
        <legend class="unseen">Time</legend>
        {spansAt(Date.now()).map(({ id: _, text, ...span }) => (
          <button key={text} type="button" aria-pressed={view.from === span.from && view.to === span.to} onClick={() => change(span)}>
            {text}
          </button>
        ))}
      </fieldset>
      <Fold said={saidOf(view, measures)} chosen={filtersIn(view).map(([label, values]) => ({ label, values, choices: choices[label] }))}>
        <div class="stack tight">
          <div class="filters">
            <Choice
              label="Show"
              options={measures}
              value={view.measure}
              change={(measure) => show(exploreSearch(measuredBy(view, measure, things)))}
            />
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
          </div>
          <Only view={view} things={things} choices={choices} change={change} />
          {trafficMeasures.length > 0 && <Kept view={view} foreign={foreign} />}
          <Days key={`${view.from} ${view.to}`} view={view} change={change} />
        </div>
      </Fold>
    </div>
  )
}

const saidOf = ({ measure, by, step, from, to }: ExploreView, measures: readonly Option[]): string =>
  `${measures.find(({ value }) => value === measure)?.text ?? measure} by ${namesIn(by).join(' and ')}, ${from} – ${to} by ${step}`

/** The filters, each of several values. What the history does not keep is offered while it has a value, so that it can be taken away. */
const Only = ({
  view,
  things,
  choices,
  change,
}: Omit<Controls, 'trafficMeasures' | 'show'> & Readonly<{ change: (changed: Partial<ExploreView>) => void }>) => {
  const known = groupsOf(view.measure, things)
  return (
    <div class="filters">
      {things
        .filter((thing) => known.includes(thing) || view[thing] !== undefined)
        .map((thing) => (
          <Pick
            key={thing}
            label={`Only ${thing}`}
            choices={choices[thing] ?? TAGS}
            values={valuesOf(view[thing])}
            change={(ids) => change({ [thing]: idsText(ids) })}
          />
        ))}
    </div>
  )
}

/** Why a choice is disabled. */
const Kept = ({ view, foreign }: Readonly<{ view: ExploreView; foreign: readonly ThingName[] }>) => {
  const kept =
    view.measure === 'refusals' ? 'Refusals are kept by model, upstream and reason' : 'First bytes are kept by model and upstream'
  if (isTraffic(view.measure)) {
    const advice = foreign.length > 0 ? `take the filter by ${foreign.join(' and ')} away` : 'nothing else can tell them apart'
    return (
      <p class="quiet">
        {kept}: {advice}.
      </p>
    )
  }
  return foreign.length === 0 ? null : (
    <p class="quiet">Refusals and first bytes are not kept by {foreign.join(' and ')}: they can be shown without this filter.</p>
  )
}

/** Asked for by the button alone: a date that is typed passes through others. */
const Days = ({ view, change }: Readonly<{ view: ExploreView; change: (changed: Partial<ExploreView>) => void }>) => {
  const [from, setFrom] = useState(view.from)
  const [to, setTo] = useState(view.to)
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        change({ from, to })
      }}
    >
      <Field label="From (UTC)" type="date" required value={from} max={to} change={setFrom} />
      <Field label="To (included)" type="date" required value={to} min={from} change={setTo} />
      <button type="submit">Show</button>
    </form>
  )
}
