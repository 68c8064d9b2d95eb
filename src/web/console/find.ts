/** Where a thing that was found stands in the console. */

import type { FoundThing } from '../api/find.ts'
import { idsText } from '../parts/explore-view.ts'
import { api } from './api.ts'
import { addressOf } from './filters.ts'

export const lookInConsole = (q: string) => api.find.get({ query: { q } })

export function pathInConsole({ kind, id }: FoundThing): string {
  switch (kind) {
    case 'account':
      return `/console/accounts/${encodeURIComponent(id)}`
    case 'key':
      return addressOf('/console/requests', { key_id: id })
    case 'person':
      return addressOf('/console/people', { find: id })
    case 'request':
      return `/console/requests/${encodeURIComponent(id)}`
    case 'model':
      return addressOf('/console/requests', { model: idsText([id]) })
  }
}
