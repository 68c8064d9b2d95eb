/** What the account spent and used, by what its people ask. Rules: pages.md "Explore". */

import { useMemo } from 'preact/hooks'
import { Explore as Exploring } from '../../parts/explore.tsx'
import { momentsOf, onlyOf } from '../../parts/explore-view.ts'
import { type AccountPageProps, pathOf } from '../account-path.ts'
import { api } from '../api.ts'
import { choicesOf } from '../choices.ts'
import { searchOf } from '../spend-view.ts'

const LEDE = 'What was spent on what, to the last digit. Hours, days, weeks and months are UTC.'
const THINGS = ['model', 'key', 'format', 'outcome', 'tag'] as const

export const Explore = ({ account }: AccountPageProps) => {
  const choices = useMemo(() => choicesOf(account.id), [account.id])
  return (
    <Exploring
      lede={LEDE}
      path={pathOf(account.id, 'explore')}
      file={`/cabinet/api/accounts/${encodeURIComponent(account.id)}/explore.csv`}
      things={THINGS}
      choices={choices}
      ask={(query) => api.accounts({ accountId: account.id }).explore.get({ query })}
      views={{
        list: () => api.accounts({ accountId: account.id }).views.get(),
        keep: (name, view) => api.accounts({ accountId: account.id }).views.post({ name, view }),
        remove: (id) => api.accounts({ accountId: account.id }).views({ id }).delete(),
      }}
      requestsOf={(asked, part = momentsOf(asked)) => {
        const only = onlyOf(asked, THINGS)
        return only && pathOf(account.id, 'requests') + searchOf({ ...only, ...part })
      }}
    />
  )
}
