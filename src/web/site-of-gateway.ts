/**
 * The parts behind the pages of a running gateway: its people, payments, alerts and mail. They are set up at its start, and loaded when they are first needed.
 * Rules: pages.md "Mounting"; house.md "Long-lived things".
 */

import type { Config } from '../config/config.ts'
import type { ConfigProblems } from '../config/problems.ts'
import type { Verifier } from '../ledger/reading/verifier.ts'
import { Payments } from '../payments/payments.ts'
import type { StripeAddress } from '../payments/stripe-api.ts'
import { Mailer } from '../people/mail.ts'
import type { People } from '../people/people.ts'
import type { UpstreamPool } from '../upstream/pool.ts'
import type { World } from '../world.ts'
import { alertsOfGateway } from './alerts-of-gateway.ts'
import type { Pages } from './mount.ts'
import { type PeopleParts, peopleOfGateway } from './people-of-gateway.ts'
import { reloadsOf } from './reloading.ts'
import type { Site } from './site.ts'
import { type TelegramAddress, telegramOfGateway } from './telegram-of-gateway.ts'

export type SiteParts = Readonly<{
  world: World
  upstreams: UpstreamPool
  /** The configuration that is in force now. */
  config: () => Config
  readConfig: () => Config | ConfigProblems
  /** Has all processes of this set read it anew, as a signal does. */
  askReload: () => void
  verifier: Verifier
  urls: PeopleParts['urls']
  startPeopleThread: PeopleParts['startPeopleThread']
  history: Site['history']
  moment: Site['moment']
  look: Site['look']
  holdsOf: Site['holdsOf']
  /** The address of a server that stands in for Stripe. */
  stripeAddress: StripeAddress | undefined
  /** The address of a server that stands in for Telegram. */
  telegramAddress: TelegramAddress | undefined
}>

export type OpenedSite = Readonly<{
  people: () => People
  payments: Payments | undefined
  /** Each function loads its app. */
  pages: Readonly<{ cabinet: () => Promise<Pages>; console: () => Promise<Pages>; api: () => Promise<Pages> }>
  /** Starts the parts that need no request: alerts, and the client of Stripe. */
  begin(): void
  close(): Promise<void>
}>

export function siteOfGateway({ stripeAddress, telegramAddress, urls, startPeopleThread, ...parts }: SiteParts): OpenedSite {
  const { world, config } = parts
  const { mail, cabinet } = config()
  const mailer = mail === undefined ? undefined : new Mailer(mail)
  const people = peopleOfGateway({ world, config, urls, startPeopleThread, mailer })
  const payments = paymentsOf(world, config(), stripeAddress)
  const telegram = cabinet.telegram === undefined ? undefined : telegramOfGateway(cabinet.telegram.token, () => site, telegramAddress)
  const alerts = alertsOfGateway({ world, config, people: people.open, mailer, sendChat: telegram?.sendChat })
  const site: Site = {
    ...parts,
    reloads: reloadsOf(parts),
    people: people.open,
    payments,
    waysToPay: () => config().payments,
    telegram,
    alerts: { open: alerts.open, sendsMail: mailer !== undefined, allowPrivate: () => config().alerts.allowPrivate },
  }
  return {
    people: people.open,
    payments,
    pages: {
      cabinet: () => import('./cabinet-app.ts').then(({ cabinetApp }) => cabinetApp(site)),
      console: () => import('./console-app.ts').then(({ consoleApp }) => consoleApp(site)),
      api: () => import('./operator-api/app.ts').then(({ operatorApi }) => operatorApi(site)),
    },
    begin() {
      alerts.begin()
      prepareSoon(payments)
      telegram?.begin()
    },
    async close() {
      alerts.close()
      parts.verifier.close()
      mailer?.close()
      await telegram?.close()
      await people.close()
    },
  }
}

/** When Stripe's client is loaded, where Stripe is configured: after the start, before much runs. */
const PREPARE_AFTER_MS = 250
const prepareSoon = (payments: Payments | undefined): void => {
  if (payments === undefined) return
  setTimeout(() => void payments.prepare(), PREPARE_AFTER_MS).unref()
}

/** `address`: the address of a server that stands in for Stripe in tests. */
export function paymentsOf(
  { ledger, log, metrics, clock }: World,
  { payments: { stripe } }: Config,
  address: StripeAddress | undefined,
): Payments | undefined {
  if (stripe === undefined) return undefined
  const { secretKey, webhookSecret } = stripe
  return new Payments({
    ledger,
    log,
    metrics,
    now: clock.now,
    secrets: { secretKey, webhookSecret },
    ...(address === undefined ? {} : { address }),
  })
}
