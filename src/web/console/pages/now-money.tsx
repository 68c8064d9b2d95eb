/** The money of the UTC day on the overview; each figure leads to what it is of. Rules: pages.md "Now". */

import type { NowDocument } from '../../now/document.ts'
import { useAsked } from '../../parts/ask.ts'
import { useEvery } from '../../parts/every.ts'
import { type ExploreQuery, exploreSearch } from '../../parts/explore-view.ts'
import { counted } from '../../parts/show-time.ts'
import { api } from '../api.ts'
import { addressOf } from '../filters.ts'
import { lostText, showMoney, UNKNOWN } from './now.words.ts'
import { Figure } from './now-figures.tsx'

export const MoneyToday = ({ now }: Readonly<{ now: NowDocument | undefined }>) => {
  const { today, ledger } = now ?? {}
  return (
    <section class="stack" aria-label="Money today">
      <h2>Money today</h2>
      <dl class="figures">
        <Figure
          name="Charged"
          value={showMoney(today?.charged_usd)}
          behind={exploreToday({ by: 'account' })}
          note={today?.requests === null || today === undefined ? '' : counted(today.requests, 'request')}
        />
        <MarginToday />
        <Figure name="Waived" value={showMoney(today?.waived_usd)} behind={requestsToday('waived')} note="used, not charged" />
        <Figure name="Estimated" value={showMoney(today?.estimated_usd)} behind={requestsToday('estimated')} note="of what was charged" />
        <Figure
          name="Lost to cache misses"
          value={showMoney(today?.cache_lost_usd)}
          behind={addressOf('/console/margin', { by: 'upstream', from: utcDay(), to: utcDay() })}
          note={lostText(today?.thinking_lost)}
        />
        <Figure
          name="Held now"
          value={showMoney(ledger?.held_usd)}
          behind="/console/accounts"
          note={ledger === undefined ? '' : `${counted(ledger.holds, 'hold')}, on their accounts’ pages`}
        />
      </dl>
    </section>
  )
}

const utcDay = (): string => new Date().toISOString().slice(0, 10)
const requestsToday = (only: string): string => addressOf('/console/requests', { only, from: `${utcDay()}T00:00:00Z` })
/** Today on Explore. */
export const exploreToday = (question: ExploreQuery): string =>
  `/console/explore${exploreSearch({ ...question, step: 'hour', from: utcDay(), to: utcDay() })}`

const MARGIN_EVERY_MS = 60_000

/** What is left of what was charged, of the requests whose cost at their upstreams is known. */
const MarginToday = () => {
  const { loaded, again } = useAsked(() => api.margin.get({ query: { by: 'day', from: utcDay(), to: utcDay() } }), [])
  useEvery(MARGIN_EVERY_MS, true, async () => again())
  const total = loaded.value?.total
  const isKnown = total !== undefined && total.requests > 0
  return (
    <Figure
      name="Margin"
      value={isKnown ? showMoney(total.margin_usd) : UNKNOWN}
      behind={addressOf('/console/margin', { from: utcDay(), to: utcDay() })}
      note={isKnown ? `cost ${showMoney(total.upstream_cost_usd)}` : total === undefined ? '' : 'no known cost'}
    />
  )
}
