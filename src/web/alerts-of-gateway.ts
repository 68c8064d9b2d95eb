/** The alerts of a running gateway: begun behind its start where somebody has one, else with the first that is made. Rules: pages.md "Alerts". */

import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import type { Alerts } from '../alerts/alerts.ts'
import type { Config } from '../config/config.ts'
import { describeBug } from '../observe/bug.ts'
import type { Mailer } from '../people/mail.ts'
import type { People } from '../people/people.ts'
import { peoplePathOf } from '../people/people-file.ts'
import type { World } from '../world.ts'

export type AlertsParts = Readonly<{
  world: World
  config: () => Config
  people: () => People
  /** Undefined: no mail is set up. */
  mailer: Mailer | undefined
}>

export type OpenedAlerts = Readonly<{
  /** Loads them where there is something to watch or to tell. Never in the way of the start. */
  begin(): void
  open(): Promise<Alerts>
  close(): void
}>

export function alertsOfGateway(parts: AlertsParts): OpenedAlerts {
  const { world, config } = parts
  let loading: Promise<Alerts> | undefined
  let running: Alerts | undefined
  let isClosed = false
  world.metrics.gauge(
    'tollgate_alert_deliveries_waiting',
    'Deliveries of alerts that are not made yet.',
    () => running?.deliveries.waiting() ?? 0,
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
      const onBug = (bug: unknown): void => world.log.alarm('alerts could not begin', describeBug(bug))
      setTimeout(() => {
        if (!isClosed && hasWork(peoplePathOf(config().ledger.path))) open().catch(onBug)
      }, 0).unref()
    },
    close() {
      isClosed = true
      running?.close()
    },
  }
}

async function load({ world, config, people, mailer }: AlertsParts): Promise<Alerts> {
  const [{ startAlerts }, { factsFrom }, { sendWebhook }] = await Promise.all([
    import('../alerts/alerts.ts'),
    import('../alerts/account-facts.ts'),
    import('../alerts/send-webhook.ts'),
  ])
  const { log, metrics, reports, clock } = world
  const opened = people()
  return startAlerts({
    sql: opened.db,
    factsOf: factsFrom(reports, clock.now),
    sendWebhook: (message) => sendWebhook(message, { allowPrivate: config().alerts.allowPrivate }),
    sendMail: mailer === undefined ? undefined : (to, mail) => mailer.send({ to, ...mail }),
    membersOf: async (accountId) => (await opened.roster.membersOf(accountId)).map(({ email }) => email),
    alertsPageOf: (accountId) => `${opened.origins('cabinet').base}/cabinet/a/${encodeURIComponent(accountId)}/alerts`,
    log,
    metrics,
    now: clock.now,
    random: Math.random,
  })
}

/** A look at the file without anything of the people in memory; one that is not there, or is older than alerts, has none. */
function hasWork(path: string): boolean {
  if (!existsSync(path)) return false
  const db = new Database(path, { readonly: true })
  try {
    const work = `SELECT EXISTS (SELECT 1 FROM alerts WHERE is_enabled = 1) OR EXISTS (SELECT 1 FROM deliveries WHERE state = 'waiting') AS work`
    return db.query<{ work: 0 | 1 }, []>(work).get()?.work === 1
  } catch {
    return false
  } finally {
    db.close()
  }
}
