/** The choice of a time, of the grouping by model or key, and of one model or key alone. */

import { useState } from 'preact/hooks'
import { Field } from '../../parts/field.tsx'
import { RANGES, type SpendView } from '../spend-view.ts'

type Show = (changed: Partial<SpendView>) => void

export const SpendControls = ({ view, name, show }: Readonly<{ view: SpendView; name: string | undefined; show: Show }>) => {
  const [isChoosing, setChoosing] = useState(false)
  const isOther = view.range === 'other'
  return (
    <div class="stack tight">
      <div class="controls">
        <fieldset class="segments">
          <legend class="unseen">Time</legend>
          {RANGES.map(({ range, text }) => (
            <button key={range} type="button" aria-pressed={view.range === range} onClick={() => show({ range })}>
              {text}
            </button>
          ))}
          <button type="button" aria-pressed={isOther} aria-expanded={isChoosing || isOther} onClick={() => setChoosing(!isChoosing)}>
            Other
          </button>
        </fieldset>
        <fieldset class="segments">
          <legend class="unseen">Grouped by</legend>
          {(['model', 'key', 'tag'] as const).map((by) => (
            <button key={by} type="button" aria-pressed={view.by === by} onClick={() => show({ by })}>
              By {by}
            </button>
          ))}
        </fieldset>
      </div>
      {(isChoosing || isOther) && <Days key={`${view.from} ${view.to}`} view={view} show={show} />}
      {(view.key ?? view.model ?? view.tag) !== undefined && (
        <div class="chips">
          {view.model !== undefined && <Chip what="model" text={view.model} drop={() => show(without(view, 'model'))} />}
          {view.tag !== undefined && <Chip what="tag" text={view.tag} drop={() => show(without(view, 'tag'))} />}
          {view.key !== undefined && <Chip what="key" text={name || view.key} drop={() => show(without(view, 'key'))} />}
        </div>
      )}
    </div>
  )
}

/** A view without a filter. The undefined value is needed: it overwrites the filter of the view. */
const without = (view: SpendView, filter: 'key' | 'model' | 'tag'): Partial<SpendView> => ({ ...view, [filter]: undefined })

const Chip = ({ what, text, drop }: Readonly<{ what: string; text: string; drop: () => void }>) => (
  <button type="button" class="chip" aria-label={`Only ${what} ${text}: show all`} onClick={drop}>
    <span class="quiet">{what}</span> <span class="cut">{text}</span> <span aria-hidden="true">✕</span>
  </button>
)

const Days = ({ view, show }: Readonly<{ view: SpendView; show: Show }>) => {
  const [from, setFrom] = useState(view.from)
  const [to, setTo] = useState(view.to)
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        show({ range: 'other', from, to })
      }}
    >
      <Field label="From" type="date" required value={from} max={to} change={setFrom} />
      <Field label="To (UTC, included)" type="date" required value={to} min={from} change={setTo} />
      <button type="submit">Show</button>
    </form>
  )
}
