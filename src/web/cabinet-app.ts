/** The cabinet as one Elysia app: its pages and their endpoints. It is loaded with the first request for it. Rules: pages.md "Mounting". */

import { Elysia } from 'elysia'
import { alertRoutes } from './api/alerts.ts'
import { accountChoices } from './api/choices.ts'
import { clientLineRoutes } from './api/client-lines.ts'
import { cabinetExplore } from './api/explore.ts'
import { accountFind } from './api/find.ts'
import { keyRoutes } from './api/keys.ts'
import { memberRoutes } from './api/members.ts'
import { peopleRoutes } from './api/people.ts'
import { requestRoutes } from './api/requests.ts'
import { spendRoutes } from './api/spend.ts'
import { summaryRoutes } from './api/summary.ts'
import { telegramRoutes } from './api/telegram.ts'
import { topUpRoutes } from './api/top-up.ts'
import { cabinetViews } from './api/views.ts'
import { webhookRoutes } from './api/webhooks.ts'
import html from './cabinet/index.html'
import { pageRoutes } from './page-routes.ts'
import type { Site } from './site.ts'

export const cabinetApp = (site: Site) =>
  new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .use(peopleRoutes(site, 'cabinet'))
    .use(topUpRoutes(site))
    .use(keyRoutes(site))
    .use(spendRoutes(site))
    .use(cabinetExplore(site))
    .use(cabinetViews(site))
    .use(summaryRoutes(site))
    .use(requestRoutes(site))
    .use(clientLineRoutes(site))
    .use(accountFind(site))
    .use(accountChoices(site))
    .use(alertRoutes(site))
    .use(webhookRoutes(site))
    .use(memberRoutes(site))
    .use(telegramRoutes(site))
    .use(pageRoutes('/cabinet', html))

/** The types of its routes, for the pages (Eden). */
export type CabinetApp = ReturnType<typeof cabinetApp>
