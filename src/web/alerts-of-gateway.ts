/** The alerts of a running gateway begin after its start where an alert exists, else with the first that is made. Rules: pages.md "Alerts". */

import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import type { Alerts } from '../alerts/alerts.ts'
import type { DeliveryWorkerParts } from '../alerts/delivery-worker.ts'
import type { Config } from '../config/config.ts'
import { noticeAway } from '../observe/away-notices.ts'
import { describeBug } from '../observe/bug.ts'
import type { Mailer } from '../people/mail.ts'
import type { People } from '../people/people.ts'
import { peoplePathOf } from '../people/people-file.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { World } from '../world.ts'

export type AlertsParts = Readonly<{
  world: World
  config: () => Config
  people: () => People
  /** Undefined: no mail is set up. */
  mailer: Mailer | undefined
  sendChat: DeliveryWorkerParts['sendChat']
}>

export type OpenedAlerts = Readonly<{
  /** Loads the alerts where there is something to watch or to tell. The start does not wait for this. */
  begin(): void
  open(): Promise<Alerts>
  close(): void
}>

/** How often a node looks for deliveries that another node has left, and for a first alert that was made there. */
const OTHERS_EVERY_MS = 60_000
/** How long the metrics wait for the store of the people. */
const SOON_MS = 1_000

export function alertsOfGateway(parts: AlertsParts): OpenedAlerts {
  const { world, config, people } = parts
  let loading: Promise<Alerts> | undefined
  let running: Alerts | undefined
  let looking: ReturnType<typeof setInterval> | undefined
  let isClosed = false
  world.metrics.gauge(
    'tollgate_alert_deliveries_waiting',
    'Deliveries of alerts that are not made yet.',
    soon(() => running?.deliveries.waiting().catch(() => Number.NaN) ?? 0),
  )
  const open = (): Promise<Alerts> => {
    loading ??= load(parts).then((alerts) => {
      running = alerts
      if (isClosed) alerts.close()
      return alerts
    })
    return loading
  }
  return {
    open,
    begin() {
      const onBug = (bug: unknown): void => {
        if (bug instanceof PeopleAway) noticeAway(world.log, bug.message)
        else world.log.alarm('alerts could not begin', describeBug(bug))
      }
      const look = async (): Promise<void> => {
        if (isClosed || !(await hasWork(config().ledger, people))) return
        if (running === undefined) await open()
        else running.resume()
      }
      setTimeout(() => look().catch(onBug), 0).unref()
      if (config().ledger.kind === 'sqlite') return
      looking = setInterval(() => look().catch(onBug), OTHERS_EVERY_MS)
      looking.unref()
    },
    close() {
      isClosed = true
      clearInterval(looking)
      running?.close()
    },
  }
}

/** Asks once at a time. Where the answer is not there soon, the metrics get the last one, and do not wait for the people. */
function soon(read: () => number | Promise<number>): () => Promise<number> {
  let known = Number.NaN
  let asking: Promise<number> | undefined
  const ask = async (): Promise<number> => {
    try {
      known = await read()
      return known
    } finally {
      asking = undefined
    }
  }
  return async () => {
    asking ??= ask()
    const { promise: late, resolve } = Promise.withResolvers<number>()
    const timer = setTimeout(() => resolve(known), SOON_MS)
    const figure = await Promise.race([asking, late])
    clearTimeout(timer)
    return figure
  }
}

async function load({ world, config, people, mailer, sendChat }: AlertsParts): Promise<Alerts> {
  const [{ startAlerts }, { factsFrom }, { sendWebhook }] = await Promise.all([
    import('../alerts/alerts.ts'),
    import('../alerts/account-facts.ts'),
    import('../alerts/send-webhook.ts'),
  ])
  const { log, metrics, reports, clock, catalog } = world
  const opened = people()
  return startAlerts({
    sql: opened.db,
    factsOf: factsFrom(reports, clock.now, catalog),
    sendWebhook: (message) => sendWebhook(message, { allowPrivate: config().alerts.allowPrivate }),
    sendMail: mailer === undefined ? undefined : (to, mail) => mailer.send({ to, ...mail }),
    sendChat,
    chatsOf: (accountId) => opened.chats.toldOf(accountId),
    membersOf: async (accountId) => (await opened.memberships.membersOf(accountId)).map(({ email }) => email),
    alertsPageOf: (accountId) => `${opened.origins('cabinet').base}/cabinet/a/${encodeURIComponent(accountId)}/alerts`,
    accountName: async (accountId) => {
      const account = await reports.ask('alert mails', { kind: 'account', accountId })
      return typeof account === 'object' ? account.name : ''
    },
    log,
    metrics,
    now: clock.now,
    random: Math.random,
  })
}

async function hasWork(ledger: Config['ledger'], people: () => People): Promise<boolean> {
  if (ledger.kind === 'sqlite') return hasWorkIn(peoplePathOf(ledger.path))
  return (await people().db.get<{ work: 0 | 1 }>(WORK))?.work === 1
}

/** Looks into the file without loading the people. A file that is missing, or older than alerts, has no work. */
function hasWorkIn(path: string): boolean {
  if (!existsSync(path)) return false
  const db = new Database(path, { readonly: true })
  try {
    return db.query<{ work: 0 | 1 }, []>(WORK).get()?.work === 1
  } catch {
    return false
  } finally {
    db.close()
  }
}

const WORK = `SELECT CASE WHEN EXISTS (SELECT 1 FROM alerts WHERE is_enabled = 1)
  OR EXISTS (SELECT 1 FROM deliveries WHERE state = 'waiting') THEN 1 ELSE 0 END AS work`
