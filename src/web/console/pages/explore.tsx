/** What was spent and used over all accounts, by what an operator asks. Rules: pages.md "Explore". */

import { FORMATS } from '../../parts/choices.ts'
import { Explore } from '../../parts/explore.tsx'
import { type ExploreView, type Moments, momentsOf, onlyOf, stepSpan } from '../../parts/explore-view.ts'
import type { TrafficAnswer } from '../../parts/traffic-answer.ts'
import { api } from '../api.ts'
import { ACCOUNTS, KEYS, MODELS, OUTCOMES, UPSTREAMS } from '../choices.ts'
import { addressOf } from '../filters.ts'
import { TRAFFIC_MEASURES, Traffic } from './traffic.tsx'

const LEDE =
  'Who spent how much on what, to the last digit; what was refused, and how long first bytes took. Hours, days, weeks and months are UTC.'
const THINGS = ['model', 'key', 'account', 'upstream', 'format', 'outcome', 'tag'] as const

const CHOICES = { model: MODELS, key: KEYS, account: ACCOUNTS, upstream: UPSTREAMS, format: FORMATS, outcome: OUTCOMES }

export const ExplorePage = () => (
  <Explore
    lede={LEDE}
    path="/console/explore"
    file="/console/api/explore.csv"
    things={THINGS}
    choices={CHOICES}
    ask={(query) => api.explore.get({ query })}
    traffic={{
      measures: TRAFFIC_MEASURES,
      show: (answer, only, view) => <Traffic answer={answer} only={only} behind={(place) => behind(view, answer, place)} />,
    }}
    views={{
      list: () => api.views.get(),
      keep: (name, view) => api.views.post({ name, view }),
      remove: (id) => api.views({ id }).delete(),
    }}
    requestsOf={requestsOf}
  />
)

function requestsOf(asked: ExploreView, part: Moments = momentsOf(asked)): string | undefined {
  const only = onlyOf(asked, THINGS)
  if (only === undefined) return undefined
  const { account: account_id, key: key_id, ...more } = only
  return addressOf('/console/requests', { account_id, key_id, ...more, ...part } as Record<string, string>)
}

/** What was refused has no rows: the overview of that time has the reasons and the accounts. */
const behind = (view: ExploreView, { measure, step }: TrafficAnswer, place: string): string | undefined => {
  const part = stepSpan(view, step, place)
  return measure === 'refusals' ? addressOf('/console', part) : requestsOf(view, part)
}
