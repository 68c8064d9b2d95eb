/** Inputs, in the style guide: as they stand, with their mistakes, and the choice of a span. Rules: pages.md "Style guide". */

import type { Act } from '../parts/act.ts'
import { BudgetFields, useBudget } from '../parts/budget-form.tsx'
import { listed } from '../parts/choices.ts'
import { ExploreControls } from '../parts/explore-controls.tsx'
import { Choice, Field, Ticks } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'

const nothing = (): void => undefined
const PERS = ['hour', 'day', 'week', 'month'].map((per) => ({ value: per, text: per }))
const PEOPLE = ['ann@example.com', 'bob@example.com'].map((email) => ({ value: email, text: email }))

const actWith = (changed: Partial<Act>): Act => ({
  isRunning: false,
  failure: undefined,
  waitS: 0,
  errorOf: () => undefined,
  otherError: () => undefined,
  run: nothing,
  ...changed,
})

export const Fields = () => (
  <Form act={actWith({})} button="Save" submit={nothing} more={<button type="button">Cancel</button>}>
    <Field label="Name" value="laptop" />
    <Field label="Limit in USD" hint="Empty for none" placeholder="25" inputMode="decimal" />
    <Field label="Name" value="of an account that is disabled" disabled />
    <Choice label="Window, by UTC" options={PERS} value="day" />
    <Ticks label="Tell by mail" options={PEOPLE} value={['ann@example.com']} change={nothing} />
  </Form>
)

export const Mistakes = () => (
  <>
    <Form
      act={actWith({ otherError: () => 'Something went wrong on our side. Try again.' })}
      kind="danger"
      button="Disable"
      submit={nothing}
      isCard
    >
      <Field label="Limit in USD" value="a lot" error="An amount is digits with at most 12 decimals, such as 25 or 0.50" />
      <Choice label="Window, by UTC" options={PERS} value="week" error="A key has this budget already" />
      <Ticks label="Tell by mail" options={PEOPLE} value={[]} change={nothing} error="Choose one at least" />
    </Form>
    <Form act={actWith({ failure: { status: 429, message: '' }, waitS: 12 })} button="Sign in" submit={nothing} isCard />
  </>
)

const BUDGET = { of: 'key', plan: null, set_by: 'operator', per: 'day', limit_usd: '25', spent_usd: '3', left_usd: '22' } as const
const SET = [{ ...BUDGET, resets_at: '2026-11-23T00:00:00.000Z' }]

/** A budget that is set, and one with mistakes. */
export const Budgets = () => {
  const budget = useBudget(BUDGET, SET)
  const wrong = actWith({ errorOf: (field) => (field === 'per' ? 'A key has this budget already' : 'A limit is above zero') })
  return (
    <>
      {[actWith({}), wrong].map((act, at) => (
        <Form key={at === 0 ? 'set' : 'wrong'} act={act} button="Set the budget" submit={nothing} isCard>
          <BudgetFields act={act} budget={budget} label="Limit in USD" hint="Empty for none" />
        </Form>
      ))}
    </>
  )
}

const MODELS = listed(['sample-large', 'sample-small'].map((value) => ({ value, text: value })))

export const Spans = () => (
  <ExploreControls
    view={{ from: '2026-11-01', to: '2026-11-22', by: 'model,key', step: 'day', measure: 'spend', model: 'sample-large' }}
    trafficMeasures={[]}
    things={['model', 'key', 'tag']}
    choices={{ model: MODELS, key: MODELS }}
    show={nothing}
  />
)
