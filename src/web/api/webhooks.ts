/** The webhooks of an account: listed, made with a secret that is shown once, changed, removed, tried. Rules: pages.md "Webhooks". */

import { Elysia, t } from 'elysia'
import type { Webhook } from '../../alerts/alert-rows.ts'
import { ALERT_BOUNDS } from '../../alerts/alert-store.ts'
import { newWebhookSecret } from '../../alerts/webhook-signature.ts'
import { readWebhookUrl } from '../../alerts/webhook-url.ts'
import { isoTime } from '../../core/utc.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { callerMacro } from './caller.ts'
import { TestTurns } from './test-turns.ts'

const URL_BODY = t.String({ minLength: 1, maxLength: 2_000, description: 'An address such as https://example.com/hook' })
const NO_STORE = { 'cache-control': 'no-store' }
const newWebhookId = (): string => `hook_${Bun.randomUUIDv7().replaceAll('-', '')}`

export const webhookRoutes = (site: Site) => {
  const turns = new TestTurns(site.world.clock.monotonicMs)
  const store = async () => (await site.alerts.open()).store
  return new Elysia({ name: 'webhooks', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .get(
      '/webhooks',
      async ({ params }) => {
        const data = (await (await store()).webhooks(params.accountId)).map(documentOf)
        return Response.json({ data, webhooks_max: ALERT_BOUNDS.webhooks }, { headers: NO_STORE })
      },
      { member: 'reader' },
    )
    .post(
      '/webhooks',
      async ({ params, body, caller }) => {
        const url = body.url.trim()
        const problem = problemOf(site, url)
        if (problem !== undefined) return problem
        const { accountId } = params
        const secret = newWebhookSecret()
        const webhook = { id: newWebhookId(), accountId, url, secret, isEnabled: true, createdBy: caller.person.email }
        if (!(await (await store()).addWebhook(webhook)))
          return refuse(409, `An account may have ${ALERT_BOUNDS.webhooks} webhooks; remove one first`)
        return Response.json(
          { ...documentOf({ ...webhook, createdAt: site.world.clock.now() }), secret },
          { status: 201, headers: NO_STORE },
        )
      },
      { member: 'owner', body: t.Object({ url: URL_BODY }, { additionalProperties: false }) },
    )
    .patch(
      '/webhooks/:id',
      async ({ params: { accountId, id }, body }) => {
        const webhooks = await store()
        const before = await webhooks.webhook(accountId, id)
        if (before === undefined) return missing()
        const url = body.url?.trim() ?? before.url
        const problem = body.url === undefined ? undefined : problemOf(site, url)
        if (problem !== undefined) return problem
        const to = { url, isEnabled: body.is_enabled ?? before.isEnabled }
        if (!(await webhooks.changeWebhook(accountId, id, to))) return missing()
        return Response.json(documentOf({ ...before, ...to }), { headers: NO_STORE })
      },
      {
        member: 'owner',
        body: t.Object(
          { url: t.Optional(URL_BODY), is_enabled: t.Optional(t.Boolean({ description: 'On or off' })) },
          { additionalProperties: false },
        ),
      },
    )
    .delete(
      '/webhooks/:id',
      async ({ params }) =>
        (await (await store()).removeWebhook(params.accountId, params.id)) ? new Response(null, { status: 204 }) : missing(),
      { member: 'owner' },
    )
    .post(
      '/webhooks/:id/test',
      async ({ params: { accountId, id } }) => {
        const alerts = await site.alerts.open()
        if ((await alerts.store.webhook(accountId, id)) === undefined) return missing()
        return turns.try(alerts, accountId, { emails: [], webhooks: [id] })
      },
      { member: 'owner' },
    )
}

function problemOf({ alerts }: Site, url: string): Response | undefined {
  const target = readWebhookUrl(url, alerts.allowPrivate())
  return typeof target === 'string' ? refuse(400, target, { field: 'url' }) : undefined
}

export type WebhookDocument = ReturnType<typeof documentOf>

/** A webhook for the page, without its secret. */
const documentOf = ({ id, url, isEnabled, createdBy, createdAt }: Webhook) => ({
  id,
  url,
  is_enabled: isEnabled,
  created_by: createdBy,
  created_at: isoTime(createdAt),
})
