/** What was spent and used over all accounts, by what an operator asks. Rules: pages.md "Explore". */

import { Explore } from '../../parts/explore.tsx'
import { momentsOf, onlyOf } from '../../parts/explore-view.ts'
import { api } from '../api.ts'
import { addressOf } from '../filters.ts'
import { TRAFFIC_MEASURES, Traffic } from './traffic.tsx'

const LEDE =
  'Who spent how much on what, to the last digit; what was refused, and how long first bytes took. Hours, days, weeks and months are UTC.'
const THINGS = ['model', 'key', 'account', 'upstream', 'format', 'outcome', 'tag'] as const

export const ExplorePage = () => (
  <Explore
    lede={LEDE}
    path="/console/explore"
    file="/console/api/explore.csv"
    things={THINGS}
    ask={(query) => api.explore.get({ query })}
    traffic={{
      measures: TRAFFIC_MEASURES,
      show: (answer, only) => <Traffic answer={answer} only={only} />,
    }}
    views={{
      list: () => api.views.get(),
      keep: (name, view) => api.views.post({ name, view }),
      remove: (id) => api.views({ id }).delete(),
    }}
    requestsOf={(asked) => {
      const only = onlyOf(asked, THINGS)
      if (only === undefined) return undefined
      const { account: account_id, key: key_id, ...more } = only
      return addressOf('/console/requests', { account_id, key_id, ...more, ...momentsOf(asked) } as Record<string, string>)
    }}
  />
)
