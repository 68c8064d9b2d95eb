/** The console as one Elysia: its pages and what they ask. Loaded with the first request for it. Rules: pages.md "Mounting". */

import { Elysia } from 'elysia'
import { codeRoutes } from './api/codes.ts'
import { peopleRoutes } from './api/people.ts'
import html from './console/index.html'
import { pageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

export const consoleApp = (site: Site) =>
  new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(peopleRoutes(site, 'console'))
    .use(codeRoutes(site))
    .use(pageRoutes('/console', html))
