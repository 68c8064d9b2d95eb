/** The requests about a key that was pasted, to the dashboard endpoints. The key is sent in a header alone, and stays in this tab only on request. */

import { treaty } from '@elysiajs/eden'
import type { dashboardRoutes } from '../../http/dashboard.ts'
import type { keyStatusRoutes } from '../../http/key-status.ts'
import type { usageRoutes } from '../../http/usage.ts'

const REMEMBERED = 'tollgate-key'

const balance = treaty<ReturnType<typeof dashboardRoutes>>(location.origin, { parseDate: false }).v1.dashboard.balance
const key = treaty<ReturnType<typeof keyStatusRoutes>>(location.origin, { parseDate: false }).v1.dashboard.key
const { usage } = treaty<ReturnType<typeof usageRoutes>>(location.origin, { parseDate: false }).v1.dashboard

/** The requests about one key. */
export type KeyApi = ReturnType<typeof keyApi>

export const keyApi = (secret: string) => {
  const headers = { authorization: `Bearer ${secret}` }
  return {
    balance: () => balance.get({ headers }),
    key: () => key.get({ headers }),
    days: () => usage.daily.get({ headers, query: {} }),
    requests: (cursor: string | undefined) =>
      usage.requests.get({ headers, query: cursor === undefined ? { limit: '25' } : { limit: '25', cursor } }),
    request: (id: string) => usage.requests({ request_id: id }).get({ headers }),
  }
}

export const rememberedKey = (): string | undefined => sessionStorage.getItem(REMEMBERED) ?? undefined
export const rememberKey = (secret: string): void => sessionStorage.setItem(REMEMBERED, secret)
export const forgetKey = (): void => sessionStorage.removeItem(REMEMBERED)
