/** What finds and chooses, in the style guide: the field of the bar, a choice of several values, saved views, the zone. Rules: pages.md "Style guide". */

import { listed } from '../parts/choices.ts'
import { ExploreViews } from '../parts/explore-views.tsx'
import { Find } from '../parts/find.tsx'
import { Pick } from '../parts/pick.tsx'
import { ZoneChoice } from '../parts/zone-choice.tsx'

const nothing = (): void => undefined
const answered = async <T,>(data: T) => ({ data, error: null, status: 200, headers: {}, response: new Response() })

const THINGS = [
  { kind: 'account', id: 'acc_1', title: 'Sample labs', detail: 'acc_1' },
  { kind: 'key', id: 'key_1', title: 'sample of long documents', detail: 'of Sample labs' },
  { kind: 'model', id: 'sample-large', title: 'sample-large', detail: '' },
] as const

/** A text that begins like none of them finds nothing. */
export const Finding = () => (
  <div class="opens-down">
    <Find label="Find" look={(text) => answered({ data: text === 'sam' ? THINGS : [] })} pathOf={() => '/console/styles'} />
  </div>
)

const MODELS = listed(['sample-large', 'sample-medium', 'sample-small'].map((value) => ({ value, text: value })))

export const Picks = () => (
  <div class="opens-down">
    <div class="filters">
      <Pick label="Model" choices={MODELS} values={['sample-large', 'sample-small']} change={nothing} />
      <Pick label="Account" choices={MODELS} values={[]} change={nothing} most={1} error="Choose from the list" />
    </div>
  </div>
)

const VIEW = { from: '2026-11-01', to: '2026-11-22', by: 'model', step: 'day', measure: 'spend' } as const
const VIEWS = [
  { id: 'view_1', name: 'Spend by model', view: VIEW },
  { id: 'view_2', name: 'Errors of the week', view: VIEW },
]

export const Views = () => (
  <div class="opens-down">
    <div class="with-act">
      <p>Explore</p>
      <ExploreViews
        calls={{ list: () => answered({ data: VIEWS }), keep: () => answered({}), remove: () => answered({}) }}
        path="/console/styles"
        view={VIEW}
      />
    </div>
  </div>
)

export const Zone = () => <ZoneChoice />
