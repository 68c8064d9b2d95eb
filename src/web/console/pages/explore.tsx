/** What was spent and used over all accounts, by what an operator asks. Rules: pages.md "Explore". */

import { Explore } from '../../parts/explore.tsx'
import { momentsOf } from '../../parts/explore-view.ts'
import { api } from '../api.ts'
import { addressOf } from '../filters.ts'

const LEDE = 'Who spent how much on what, to the last digit. Days, weeks and months are UTC.'
const THINGS = ['model', 'key', 'account', 'upstream', 'format', 'outcome', 'tag'] as const

export const ExplorePage = () => (
  <Explore
    lede={LEDE}
    path="/console/explore"
    file="/console/api/explore.csv"
    things={THINGS}
    ask={(query) => api.explore.get({ query })}
    requestsOf={({ upstream, format, ...only }, view) => {
      const values = [only.model, only.key, only.account, only.outcome, only.tag].filter((one) => one !== undefined)
      // The list of requests knows one of each, no upstream and no format, and no tag that stands for several or for none.
      if (upstream || format || values.some((one) => one.includes(',') || one.startsWith('('))) return undefined
      return addressOf('/console/requests', {
        account_id: only.account,
        key_id: only.key,
        model: only.model,
        outcome: only.outcome,
        tag: only.tag,
        ...momentsOf(view),
      } as Record<string, string>)
    }}
  />
)
