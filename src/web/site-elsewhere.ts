/** The site of a relay: its pages are those of the ledger process, and Stripe's events that reach it are writes of its own. Rules: pages.md "Mounting"; processes.md "Once". */

import type { Config } from '../config/config.ts'
import type { StripeAddress } from '../payments/stripe-api.ts'
import type { People } from '../people/people.ts'
import type { World } from '../world.ts'
import type { Pages } from './mount.ts'
import { pagesElsewhere } from './pages-over-socket.ts'
import { type OpenedSite, paymentsOf } from './site-of-gateway.ts'

/** `url`, `operatorUrl`: the addresses of the listeners, once they are known. */
type Listening = Readonly<{ config: Config; url: string; operatorUrl: string }>

/** `socket`: the socket on which the ledger process answers pages. */
export function siteElsewhere(world: World, state: Listening, socket: string, stripeAddress: StripeAddress | undefined): OpenedSite {
  const pages = (listening: () => string) => (): Promise<Pages> => Promise.resolve(pagesElsewhere(socket, listening))
  return {
    people: (): People => {
      throw new Error('the people of a relay are those of the ledger process')
    },
    payments: paymentsOf(world, state.config, stripeAddress),
    pages: { cabinet: pages(() => state.url), console: pages(() => state.operatorUrl), api: pages(() => state.operatorUrl) },
    begin: () => undefined,
    close: () => Promise.resolve(),
  }
}
