/** The console as one Elysia: its pages and what they ask. Loaded with the first request for it. Rules: pages.md "Mounting". */

import { Elysia } from 'elysia'
import { catalogRoutes } from './api/catalog.ts'
import { codeRoutes } from './api/codes.ts'
import { nowRoutes } from './api/now.ts'
import { peopleRoutes } from './api/people.ts'
import { upstreamRoutes } from './api/upstreams.ts'
import html from './console/index.html'
import { pageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

export const consoleApp = (site: Site) =>
  new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(peopleRoutes(site, 'console'))
    .use(codeRoutes(site))
    .use(nowRoutes(site))
    .use(upstreamRoutes(site))
    .use(catalogRoutes(site))
    .use(pageRoutes('/console', html))

/** The types of its routes, for the pages (Eden). */
export type ConsoleApp = ReturnType<typeof consoleApp>
