/** The `[payments]` table: the operator's words, and Stripe with its secrets, which come from the environment only. Rules: pages.md "Stripe". */

import { type Picos, parseUsd, ZERO } from '../core/money.ts'
import type { PaymentsConfig } from './config.ts'
import { STRIPE } from './defaults.ts'
import { type ConfigProblem, describe } from './problems.ts'
import type { ConfigFile } from './schema.ts'
import { type Environment, secretOf } from './secret.ts'

const CENT_PICOS = 10_000_000_000n
/** The bounds of Stripe for one payment: https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts. */
const STRIPE_MIN_USD = '0.50'
const STRIPE_MAX_USD = '999999.99'

/** The payments of the configuration. With `env` undefined no secret is read. Every mistake is added to `problems`, never with the value of a secret. */
export function makePayments(
  { text, stripe }: NonNullable<ConfigFile['payments']>,
  env: Environment | undefined,
  problems: ConfigProblem[],
): PaymentsConfig {
  if (stripe === undefined) return { text, stripe: undefined }
  const path = 'payments.stripe'
  const minPicos = amountOf(stripe.min_usd ?? STRIPE.minUsd, `${path}.min_usd`, problems)
  const maxPicos = amountOf(stripe.max_usd ?? STRIPE.maxUsd, `${path}.max_usd`, problems)
  if (minPicos > maxPicos) problems.push({ path: `${path}.max_usd`, message: 'expected no less than min_usd' })
  const read = (variable: string, name: string): string =>
    env === undefined ? '' : (secretOf(env, variable, `${path}.${name}`, problems) ?? '')
  const secretKey = read(stripe.secret_key_env, 'secret_key_env')
  return { text, stripe: { secretKey, webhookSecret: read(stripe.webhook_secret_env, 'webhook_secret_env'), minPicos, maxPicos } }
}

function amountOf(text: string, path: string, problems: ConfigProblem[]): Picos {
  const amount = parseUsd(text) ?? ZERO
  const isPayable = amount >= (parseUsd(STRIPE_MIN_USD) ?? ZERO) && amount <= (parseUsd(STRIPE_MAX_USD) ?? ZERO)
  if (!isPayable || amount % CENT_PICOS !== ZERO)
    problems.push({ path, message: `expected whole cents from "${STRIPE_MIN_USD}" to "${STRIPE_MAX_USD}", found ${describe(text)}` })
  return amount
}
