/** The console as one Elysia: its pages and what they ask. Loaded with the first request for it. Rules: pages.md "Mounting". */

import { Elysia } from 'elysia'
import html from './console/index.html'
import { pageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

export const consoleApp = (_site: Site) =>
  new Elysia({ strictPath: true, handler: { standardHostname: false } }).use(pageRoutes('/console', html))
