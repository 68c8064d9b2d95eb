/**
 * LiteLLM's rows as accounts and keys. Its token is the SHA-256 of the whole key, as ours is; a key that does not begin with `sk-` stands there bare. The user, else the
 * team, else the key itself is the account: the first that has a budget. Rules: operator.md "Import". Its schema: https://docs.litellm.ai/docs/proxy/db_info
 */

import { displayOf } from '../key.ts'
import { BALANCE_PICOS_MAX, maxPicos, toExactUsdText, ZERO } from '../money.ts'
import { Budgets, type LiteLlmRows, oldHashesOf, type Pot } from './litellm-budgets.ts'
import { Accounts, EXPIRY_CUT, expiryOf, type Mapped, type MappedKey, type MappingRules, planOf, problemOfSecret } from './mapped.ts'
import { flagIn, isFilled, numberIn, type Row, textIn, textsIn } from './row.ts'

/** The keys by which people are signed in to its own pages. */
const SIGN_INS = 'litellm-dashboard'

/** The name of all routes that lead to models. */
const ROUTES_OF_MODELS = 'llm_api_routes'

type Around = Readonly<{
  budgets: Budgets
  old: ReturnType<typeof oldHashesOf>
  accounts: Accounts
  rules: MappingRules
}>

export function mapLiteLlm(rows: LiteLlmRows, rules: MappingRules): Mapped {
  const accounts = new Accounts()
  const around = { budgets: new Budgets(rows), old: oldHashesOf(rows.deprecated), accounts, rules }
  for (const row of rows.keys) mapKey(row, around)
  return accounts.mapped()
}

function mapKey(row: Row, around: Around): void {
  const { budgets, accounts, rules } = around
  const subject = subjectOf(row)
  const [own, shared] = [budgets.ownOf(row), budgets.sharedBy(row)]
  const payer =
    textIn(row, 'team_id') === SIGN_INS ? 'it only signs a person in to the pages there' : (problemOfRoutes(row) ?? payerOf(own, shared))
  if (typeof payer === 'string') {
    accounts.note('', subject, false, payer)
    return
  }
  const account = `${payer.kind}:${payer.id}`
  const limit = own === payer ? undefined : own
  const secret = secretOf(row, rules)
  const plan = planOf(modelsOf(row, budgets), rules)
  const problem = 'problem' in secret ? secret.problem : 'problem' in plan ? plan.problem : problemOfSize(payer, limit)
  if (problem !== undefined || 'problem' in secret || 'problem' in plan) {
    accounts.note(account, subject, false, problem ?? '')
    return
  }
  const { expiresAt, isCut } = expiryOf(numberIn(row, 'expires'), rules.now)
  if (isCut) accounts.note(account, subject, true, EXPIRY_CUT)
  noteRest(row, { account, subject, limit, payer }, around)
  const key: MappedKey = {
    source: textIn(row, 'token'),
    name: textIn(row, 'key_alias'),
    display: secret.display,
    secretHashes: [{ hash: secret.hash, validUntil: null }, ...oldHashes(row, around)],
    form: 'exact',
    plan: plan.name,
    limitPicos: limit === undefined || limit.budget !== null ? null : maxPicos(limit.left.picos, ZERO),
    budget: limit?.budget ?? null,
    expiresAt,
    isActive: !isBlocked(row, budgets),
  }
  accounts.add({ source: account, name: payer.name, balancePicos: maxPicos(payer.left.picos, ZERO), budget: payer.budget }, key)
}

const problemOfSize = (...pots: readonly (Pot | undefined)[]): string | undefined =>
  pots.some((pot) => pot !== undefined && [pot.left.picos, pot.budget?.capPicos ?? ZERO].some((amount) => amount > BALANCE_PICOS_MAX))
    ? 'its budget is more than an account can hold here'
    : undefined

/** A key of all models' routes is like one of ours. One of fewer would do more here than there: its list may be one that its operator relies on, such as that of looks alone. */
function problemOfRoutes(row: Row): string | undefined {
  const routes = textsIn(row, 'allowed_routes')
  if (routes.length === 0 || routes.includes(ROUTES_OF_MODELS)) return undefined
  return `it may use some routes only (${routes.join(', ')}), which cannot be said here: clear its allowed_routes there, or make a key here`
}

/** The account's budget, or why there is none. */
function payerOf(own: Pot | undefined, shared: readonly Pot[]): Pot | string {
  const [pot, ...more] = shared
  if (pot === undefined) return own ?? 'no budget says how much it may spend: give it one there, or make a key here'
  if (more.length === 0 && (pot.kind === 'user' || pot.kind === 'team')) return pot
  const pots = shared.map(({ kind, id }) => `${kind} ${id}`).join(', ')
  return `it spends of a budget that one account cannot say (${pots}), beside ${own === undefined ? 'no budget' : 'the budget'} of its own`
}

type Secret = Readonly<{ hash: Uint8Array; display: string }>

function secretOf(row: Row, rules: MappingRules): Secret | Readonly<{ problem: string }> {
  const token = textIn(row, 'token')
  const hash = hashOfHex(token)
  if (hash !== undefined) return { hash, display: displayOf(textIn(row, 'key_name')) }
  const problem = problemOfSecret(token, rules)
  return problem === undefined ? { hash: rules.hashOf(token), display: displayOf(token) } : { problem }
}

const hashOfHex = (text: string): Uint8Array | undefined =>
  /^[0-9a-f]{64}$/.test(text)
    ? Uint8Array.from({ length: 32 }, (_, byte) => Number.parseInt(text.slice(2 * byte, 2 * byte + 2), 16))
    : undefined

function oldHashes(row: Row, { old, rules }: Around): MappedKey['secretHashes'] {
  const still = (old.get(textIn(row, 'token')) ?? []).filter(({ until }) => until > rules.now)
  return still.flatMap(({ token, until }) => {
    const hash = hashOfHex(token)
    return hash === undefined ? [] : [{ hash, validUntil: until }]
  })
}

/** The models of the key, within those of its team and project, or of its user where it has no team. */
function modelsOf(row: Row, budgets: Budgets): readonly string[] | 'all' {
  const team = budgets.teamOf(row)
  const within = [textsIn(team ?? budgets.userOf(row) ?? {}, 'models'), textsIn(budgets.projectOf(row) ?? {}, 'models')]
  const own = textsIn(row, 'models')
  const asked = own.includes('all-team-models') ? textsIn(team ?? {}, 'models') : own
  return [asked, ...within]
    .filter((models) => models.length > 0 && !models.includes('all-proxy-models'))
    .reduce<readonly string[] | 'all'>((left, models) => (left === 'all' ? models : left.filter((model) => models.includes(model))), 'all')
}

const isBlocked = (row: Row, budgets: Budgets): boolean =>
  [row, budgets.teamOf(row) ?? {}, budgets.projectOf(row) ?? {}].some((one) => flagIn(one, 'blocked'))

const subjectOf = (row: Row): string => `key ${textIn(row, 'key_alias') || textIn(row, 'key_name') || textIn(row, 'token').slice(0, 12)}`

type Noted = Readonly<{ account: string; subject: string; limit: Pot | undefined; payer: Pot }>

/** Notes what comes otherwise than it is there. */
function noteRest(row: Row, { account, subject, limit, payer }: Noted, { budgets, accounts }: Around): void {
  const note = (what: string): void => accounts.note(account, subject, true, what)
  for (const pot of limit === undefined ? [payer] : [payer, limit]) for (const what of notesOf(pot, pot === payer)) note(what)
  const [user, team] = [budgets.userOf(row) ?? {}, budgets.teamOf(row) ?? {}]
  if (
    [row, user, team].some((one) => ['tpm_limit', 'rpm_limit', 'max_parallel_requests'].some((name) => numberIn(one, name) !== undefined))
  )
    note('its limits of requests and tokens do not come: give it some here by `tollgate keys rates`')
  if ([row, team].some((one) => isFilled(one, 'model_max_budget') || isFilled(one, 'budget_limits')))
    note('its budgets by model or by several windows do not come')
  if (isFilled(row, 'aliases')) note('its aliases of models do not come')
  if (isBlocked(row, budgets)) note('it is blocked there, and comes disabled')
}

/** What comes of a budget otherwise than it is there. `isBalance`: it is that of the account. */
function notesOf({ kind, id, left, duration, budget }: Pot, isBalance: boolean): readonly string[] {
  const what = kind === 'key' ? 'its budget' : `the budget of ${kind} ${id}`
  const full = `${what} is full again every ${duration} there`
  const cap = budget === null ? '' : `at most $${toExactUsdText(budget.capPicos)} in each ${budget.per} of UTC`
  if (budget !== null && !isBalance) return [`${full}: here it may spend ${cap}, and what it spent there does not count`]
  return [
    ...(left.rest === '' ? [] : [`${what} is rounded down: ${left.rest} is left out`]),
    ...(left.picos < ZERO ? [`${what} is overspent: it comes as 0`] : []),
    ...(duration === ''
      ? []
      : [
          `${full}: what is left of it now comes, once; ${budget === null ? '`--per` sets one here' : `here it is topped up, and spends ${cap}`}`,
        ]),
  ]
}
