/** The alerts of an account: listed, made, changed, removed, tried; and the deliveries. Rules: pages.md "Alerts". */

import { Elysia, t } from 'elysia'
import type { Alert } from '../../alerts/alert-rows.ts'
import { ALERT_BOUNDS } from '../../alerts/alert-store.ts'
import type { Alerts } from '../../alerts/alerts.ts'
import type { ListedDelivery } from '../../alerts/delivery-store.ts'
import { type AlertRule, judgesKey } from '../../core/alerts.ts'
import { isoTime } from '../../core/utc.ts'
import { hasMailbox } from '../../people/memberships.ts'
import type { Site } from '../site.ts'
import { ALERT_BODY, type AlertBody, documentOf, type FieldProblem, ruleOf } from './alert-body.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { TestTurns } from './test-turns.ts'

const PAGE = { usual: 50, max: 200 } as const
const NO_STORE = { 'cache-control': 'no-store' }
type AlertSite = Pick<Site, 'alerts' | 'people' | 'world'>

const newAlertId = (): string => `alert_${Bun.randomUUIDv7().replaceAll('-', '')}`

export const alertRoutes = (site: Site) => {
  const turns = new TestTurns(site.world.clock.monotonicMs)
  return new Elysia({ name: 'alerts', prefix: '/cabinet/api/accounts/:accountId' })
    .use(callerMacro(site.people, 'cabinet'))
    .get('/alerts', ({ params }) => list(site, params.accountId), { member: 'reader' })
    .post('/alerts', ({ params, body, caller }) => addAlert(site, params.accountId, body, caller), { member: 'owner', body: ALERT_BODY })
    .patch('/alerts/:id', ({ params, body, caller }) => change(site, params, body, caller), {
      member: 'owner',
      body: t.Partial(ALERT_BODY),
    })
    .delete(
      '/alerts/:id',
      async ({ params }) =>
        (await (await site.alerts.open()).store.removeAlert(params.accountId, params.id)) ? new Response(null, { status: 204 }) : missing(),
      { member: 'owner' },
    )
    .post(
      '/alerts/:id/test',
      async ({ params }) => {
        const alerts = await site.alerts.open()
        const alert = await alerts.store.alert(params.accountId, params.id)
        const chats = await site.people().chats.toldOf(params.accountId)
        return alert === undefined ? missing() : turns.try(alerts, params.accountId, { ...alert, chats })
      },
      { member: 'owner' },
    )
    .get('/deliveries', ({ params, query }) => told(site, params.accountId, query), {
      member: 'reader',
      query: t.Object({
        before: t.Optional(t.Integer({ minimum: 1, description: 'The `next` of the page before' })),
        limit: t.Optional(t.Integer({ minimum: 1, maximum: PAGE.max, description: `From 1 to ${PAGE.max}` })),
      }),
    })
}

/** The alerts with what the form needs: the members who may be written to, and how many alerts an account may have. */
async function list({ alerts, people }: AlertSite, accountId: string) {
  const { store } = await alerts.open()
  const data = await Promise.all((await store.alerts(accountId)).map((alert) => documentOfNow(store, alert)))
  const members = (await people().memberships.membersOf(accountId)).map(({ email }) => email)
  const { sendsMail } = alerts
  const chats = (await people().chats.toldOf(accountId)).length
  return Response.json(
    { data, emails: sendsMail ? members.filter(hasMailbox) : [], sends_mail: sendsMail, chats, alerts_max: ALERT_BOUNDS.alerts },
    { headers: NO_STORE },
  )
}

/** Makes an alert; 201, or a refusal that names the field. */
export async function addAlert(site: AlertSite, accountId: string, body: AlertBody, { person }: Caller): Promise<Response> {
  const alerts = await site.alerts.open()
  const checked = await check(site, alerts, { accountId, body, personId: person.id })
  if (checked instanceof Response) return checked
  const id = newAlertId()
  const alert = { id, accountId, ...checked, isEnabled: body.is_enabled ?? true, createdBy: person.email }
  if (!(await alerts.store.addAlert(alert))) return refuse(409, `An account may have ${ALERT_BOUNDS.alerts} alerts; remove one first`)
  alerts.look()
  return shown(alerts, accountId, id, 201)
}

async function change(site: Site, { accountId, id }: AlertRef, body: Partial<AlertBody>, { person }: Caller): Promise<Response> {
  const alerts = await site.alerts.open()
  const before = await alerts.store.alert(accountId, id)
  if (before === undefined) return missing()
  const whole = { ...bodyOf(before), ...body }
  const checked = await check(site, alerts, { accountId, body: whole, personId: person.id })
  if (checked instanceof Response) return checked
  const isChanged = await alerts.store.changeAlert(accountId, id, { ...checked, isEnabled: whole.is_enabled ?? true })
  if (!isChanged) return missing()
  alerts.look()
  return shown(alerts, accountId, id, 200)
}

const documentOfNow = async (store: Alerts['store'], alert: Alert) => documentOf(alert, (await store.marks(alert.id)).size > 0)

type AlertRef = Readonly<{ accountId: string; id: string }>
type Checked = Pick<Alert, 'rule' | 'emails' | 'webhooks'>

async function shown({ store }: Alerts, accountId: string, id: string, status: number): Promise<Response> {
  const alert = await store.alert(accountId, id)
  return alert === undefined ? missing() : Response.json(await documentOfNow(store, alert), { status, headers: NO_STORE })
}

/** The body that the alert's form would send for it. */
function bodyOf(alert: Alert): AlertBody {
  const { kind, threshold_usd, days, percent, key_id, emails, webhook_ids, is_enabled } = documentOf(alert, false)
  return {
    kind,
    ...(threshold_usd === null ? {} : { threshold_usd }),
    ...(days === null ? {} : { days }),
    ...(percent === null ? {} : { percent }),
    key_id,
    emails: [...emails],
    webhook_ids: [...webhook_ids],
    is_enabled,
  }
}

type AlertRequest = Readonly<{ accountId: string; body: AlertBody; personId: string }>

/** Checks a form against the keys, members and webhooks of the account. */
async function check(site: AlertSite, { store }: Alerts, { accountId, body, personId }: AlertRequest): Promise<Checked | Response> {
  const rule = ruleOf(body)
  if ('field' in rule) return wrong(rule)
  const { webhook_ids: webhooks } = body
  const emails = body.emails.map((email) => email.trim().toLowerCase())
  const chats = await site.people().chats.toldOf(accountId)
  if (emails.length + webhooks.length + chats.length === 0)
    return wrong({ field: 'emails', message: 'Choose whom to tell: a member or a webhook' })
  if (emails.length > 0 && !site.alerts.sendsMail)
    return wrong({ field: 'emails', message: 'This gateway sends no mail; choose a webhook' })
  const members = new Set((await site.people().memberships.membersOf(accountId)).map(({ email }) => email))
  if (!emails.every((email) => members.has(email) && hasMailbox(email)))
    return wrong({ field: 'emails', message: 'Mails go to members of this account only' })
  const known = new Set((await store.webhooks(accountId)).map(({ id }) => id))
  if (!webhooks.every((id) => known.has(id))) return wrong({ field: 'webhook_ids', message: 'Choose webhooks of this account' })
  return (await keyProblem(site, accountId, rule, personId)) ?? { rule, emails: [...new Set(emails)], webhooks }
}

async function keyProblem({ world }: AlertSite, accountId: string, rule: AlertRule, personId: string): Promise<Response | undefined> {
  const keyId = judgesKey(rule)
  if (keyId === null) return undefined
  const key = await world.reports.ask(`person:${personId}`, { kind: 'accountKey', accountId, keyId })
  if (typeof key === 'string') return refuse(503, 'Try again in a moment', { retryAfterS: 1 })
  return key === undefined ? wrong({ field: 'key_id', message: 'Choose a key of this account' }) : undefined
}

const wrong = ({ field, message }: FieldProblem): Response => refuse(400, message, { field })

async function told(
  { alerts }: Site,
  accountId: string,
  { before, limit = PAGE.usual }: { before?: number | undefined; limit?: number | undefined },
) {
  const { deliveries } = await alerts.open()
  const rows = await deliveries.list(accountId, before ?? null, limit + 1)
  const data = rows.slice(0, limit)
  const next = rows.length > limit ? (data.at(-1)?.number ?? null) : null
  return Response.json({ data: data.map(deliveryOf), next }, { headers: NO_STORE })
}

export type DeliveryDocument = ReturnType<typeof deliveryOf>

const deliveryOf = (delivery: ListedDelivery) => ({
  event_id: delivery.eventId,
  type: delivery.type,
  alert_id: delivery.alertId,
  channel: delivery.channel,
  target: delivery.target,
  state: delivery.state,
  attempts: delivery.attempts,
  last_status: delivery.lastStatus,
  last_problem: delivery.lastProblem,
  created_at: isoTime(delivery.createdAt),
  next_at: timeOrNull(delivery.nextAt),
  done_at: timeOrNull(delivery.doneAt),
})

const timeOrNull = (time: number | null): string | null => (time === null ? null : isoTime(time))
