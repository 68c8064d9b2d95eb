/** Pages of a process that answers no clients itself: what they show of this moment is brought up to date first. Rules: processes.md "Once". */

import type { Pages } from './mount.ts'
import type { OpenedSite } from './site-of-gateway.ts'

/** The endpoints are below such a path; a page itself shows nothing of this moment. */
const ENDPOINTS = '/api/'

type Loaders = OpenedSite['pages']

export function lookingFirst(look: () => Promise<void>, { cabinet, console, api }: Loaders): Loaders {
  return { cabinet: afterLook(look, cabinet), console: afterLook(look, console), api: afterLook(look, api) }
}

const afterLook = (look: () => Promise<void>, load: () => Promise<Pages>) => async (): Promise<Pages> => {
  const pages = await load()
  return {
    ...pages,
    async handle(request) {
      if (new URL(request.url).pathname.includes(ENDPOINTS)) await look()
      return await pages.handle(request)
    },
  }
}
