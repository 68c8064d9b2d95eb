/** The console as one Elysia app: its pages and their endpoints. It is loaded with the first request for it. Rules: pages.md "Mounting". */

import { Elysia } from 'elysia'
import { catalogRoutes } from './api/catalog.ts'
import { consoleChoices } from './api/choices.ts'
import { codeRoutes } from './api/codes.ts'
import { consoleAccounts } from './api/console-accounts.ts'
import { consoleActs } from './api/console-acts.ts'
import { consoleBooks } from './api/console-books.ts'
import { consoleBudgets } from './api/console-budgets.ts'
import { consoleCredits } from './api/console-credits.ts'
import { consoleKeys } from './api/console-keys.ts'
import { consolePeople } from './api/console-people.ts'
import { consoleTokens } from './api/console-tokens.ts'
import { consoleExplore } from './api/explore.ts'
import { ExploreLines } from './api/explore-lines.ts'
import { consoleFind } from './api/find.ts'
import { historyRoutes } from './api/history.ts'
import { marginRoutes } from './api/margin.ts'
import { nowRoutes } from './api/now.ts'
import { peopleRoutes } from './api/people.ts'
import { spentRoutes } from './api/spent.ts'
import { upstreamRoutes } from './api/upstreams.ts'
import { consoleViews } from './api/views.ts'
import html from './console/index.html'
import { pageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

export const consoleApp = (site: Site) => {
  const acts = consoleActs(site)
  const lines = new ExploreLines()
  return new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(peopleRoutes(site, 'console'))
    .use(codeRoutes(site, acts))
    .use(nowRoutes(site))
    .use(historyRoutes(site, acts))
    .use(marginRoutes(site))
    .use(consoleExplore(site, lines))
    .use(spentRoutes(site, lines))
    .use(consoleViews(site))
    .use(upstreamRoutes(site))
    .use(catalogRoutes(site, acts))
    .use(consoleAccounts(site, acts))
    .use(consoleCredits(site, acts))
    .use(consoleBudgets(site, acts))
    .use(consoleKeys(site, acts))
    .use(consolePeople(site, acts))
    .use(consoleTokens(site, acts))
    .use(consoleBooks(site, acts))
    .use(consoleFind(site, acts))
    .use(consoleChoices(site, acts))
    .use(pageRoutes('/console', html))
}

/** The types of its routes, for the pages (Eden). */
export type ConsoleApp = ReturnType<typeof consoleApp>
