/** Pages of a process that answers no clients itself: what they show of this moment is brought up to date first. Rules: processes.md "Once". */

import type { Pages } from './mount.ts'
import type { OpenedSite } from './site-of-gateway.ts'

/** The endpoints that show what runs now, or upstreams. Others, and what is written, wait for no relay. */
const SHOWING = [
  /\/console\/api\/(now|upstreams)$/,
  /\/console\/api\/accounts\/[^/]+(\/keys)?$/,
  /\/console\/api\/keys(\/[^/]+)?$/,
  /\/cabinet\/api\/accounts\/[^/]+\/(summary|running|keys(\/[^/]+)?)$/,
  /\/api\/v1\/(accounts\/[^/]+|keys(\/[^/]+)?)$/,
]

const showsNow = ({ method, url }: Request): boolean => {
  const { pathname } = new URL(url)
  return method === 'GET' && SHOWING.some((path) => path.test(pathname))
}

type Loaders = OpenedSite['pages']

export function lookingFirst(look: () => Promise<void>, { cabinet, console, api }: Loaders): Loaders {
  return { cabinet: afterLook(look, cabinet), console: afterLook(look, console), api: afterLook(look, api) }
}

const afterLook = (look: () => Promise<void>, load: () => Promise<Pages>) => async (): Promise<Pages> => {
  const pages = await load()
  return {
    ...pages,
    async handle(request) {
      if (showsNow(request)) await look()
      return await pages.handle(request)
    },
  }
}
