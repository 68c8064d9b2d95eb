/**
 * The rows of one-api and new-api as accounts and keys. Both keep a key in plain text without `sk-`; a request pays from the user's quota and, unless the token is
 * unlimited, from the token's, too. Rules: operator.md "Import". The tables: https://github.com/songquanpeng/one-api/tree/main/model,
 * https://github.com/QuantumNous/new-api/tree/main/model
 */

import { displayOf } from '../key.ts'
import { BALANCE_PICOS_MAX, maxPicos, ZERO } from '../money.ts'
import { type Amount, worthOf } from './amount.ts'
import { Accounts, EXPIRY_CUT, expiryOf, type Mapped, type MappedKey, type MappingRules, planOf, problemOfSecret } from './mapped.ts'
import { flagIn, type Row, textIn, wholeIn } from './row.ts'

/** Rows as objects, by table; `redemptions`: how many codes are not redeemed, as one row. */
export type OneApiRows = Readonly<Record<'tokens' | 'users' | 'options' | 'redemptions', readonly Row[]>>

/** What a dollar is worth where no option says otherwise. */
const QUOTA_PER_USD = 500_000n
const ENABLED = '1'
const DISABLED = '2'
const NEVER = -1n

type Around = Readonly<{
  users: ReadonlyMap<string, Row>
  /** What a group pays in place of 1; absent: 1. */
  factors: ReadonlyMap<string, number>
  perUsd: bigint
  accounts: Accounts
  rules: MappingRules
}>

/** `problem`: an option of theirs cannot be understood, so nothing can. */
export function mapOneApi(rows: OneApiRows, rules: MappingRules): Mapped | Readonly<{ problem: string }> {
  const options = new Map(rows.options.map((row) => [textIn(row, 'key'), textIn(row, 'value')]))
  const perUsd = quotaPerUsd(options)
  const factors = factorsOf(options.get('GroupRatio') ?? '')
  if (perUsd === undefined) return { problem: `their option QuotaPerUnit is no whole number above 0: ${options.get('QuotaPerUnit')}` }
  if (factors === undefined) return { problem: 'their option GroupRatio is no object of numbers' }
  const accounts = new Accounts()
  const users = new Map(rows.users.filter(isThere).map((row) => [textIn(row, 'id'), row]))
  for (const row of rows.tokens.filter(isThere)) mapToken(row, { users, factors, perUsd, accounts, rules })
  const codes = rows.redemptions.map((row) => wholeIn(row, 'count') ?? 0n).find((count) => count > 0n)
  if (codes !== undefined)
    accounts.note('', 'redemption codes', false, `${codes} are not redeemed there: make new ones by \`tollgate codes create\``)
  return accounts.mapped()
}

/** The quota units of a dollar; undefined: the option is no such number. */
function quotaPerUsd(options: ReadonlyMap<string, string>): bigint | undefined {
  const text = options.get('QuotaPerUnit') ?? ''
  if (text === '') return QUOTA_PER_USD
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0 ? BigInt(number) : undefined
}

function factorsOf(text: string): ReadonlyMap<string, number> | undefined {
  if (text === '') return new Map()
  try {
    const factors: unknown = JSON.parse(text)
    if (typeof factors !== 'object' || factors === null) return undefined
    const entries = Object.entries(factors)
    return entries.every((entry): entry is [string, number] => typeof entry[1] === 'number') ? new Map(entries) : undefined
  } catch {
    return undefined
  }
}

/** New-api marks deleted rows and keeps them. */
const isThere = (row: Row): boolean => row['deleted_at'] === undefined || row['deleted_at'] === null

function mapToken(row: Row, around: Around): void {
  const { users, accounts, perUsd, rules } = around
  const subject = `token ${textIn(row, 'id')}${textIn(row, 'name') === '' ? '' : ` (${textIn(row, 'name')})`}`
  const user = users.get(textIn(row, 'user_id'))
  const account = user === undefined ? '' : `user:${textIn(user, 'id')}`
  const found = user === undefined ? `there is no user ${textIn(row, 'user_id')}` : problemOfToken(row, user, around)
  const plan = planOf(modelsOf(row), rules)
  const problem = found ?? ('problem' in plan ? plan.problem : undefined)
  if (user === undefined || problem !== undefined || 'problem' in plan) {
    accounts.note(account, subject, false, problem ?? '')
    return
  }
  const note = (what: string): void => accounts.note(account, subject, true, what)
  const [balance, limit] = [balanceOf(user, perUsd), limitOf(row, perUsd)]
  noteAmount('the quota of its user', balance, note)
  if (limit !== undefined) noteAmount('its quota', limit, note)
  const ends = wholeIn(row, 'expired_time') ?? NEVER
  const { expiresAt, isCut } = expiryOf(ends === NEVER ? undefined : Number(ends) * 1_000, rules.now)
  if (isCut) note(EXPIRY_CUT)
  const isActive = textIn(row, 'status') !== DISABLED && textIn(user, 'status') === ENABLED
  if (!isActive) note('it or its user is disabled there, and it comes disabled')
  const secret = secretOf(row)
  const key: MappedKey = {
    source: `token:${textIn(row, 'id')}`,
    name: textIn(row, 'name'),
    display: displayOf(secret),
    secretHashes: [secret, `sk-${secret}`].map((text) => ({ hash: rules.hashOf(text), validUntil: null })),
    form: 'channel',
    plan: plan.name,
    limitPicos: limit === undefined ? null : maxPicos(limit.picos, ZERO),
    budget: null,
    expiresAt,
    isActive,
  }
  accounts.add({ source: account, name: textIn(user, 'username'), balancePicos: maxPicos(balance.picos, ZERO), budget: null }, key)
}

const balanceOf = (user: Row, perUsd: bigint): Amount => worthOf(wholeIn(user, 'quota') ?? 0n, perUsd)
const limitOf = (row: Row, perUsd: bigint): Amount | undefined =>
  flagIn(row, 'unlimited_quota') ? undefined : worthOf(wholeIn(row, 'remain_quota') ?? 0n, perUsd)
/** A column of a fixed width is filled with spaces. */
const secretOf = (row: Row): string => textIn(row, 'key').trimEnd()

/** Why the token cannot come. */
function problemOfToken(row: Row, user: Row, { factors, perUsd, rules }: Around): string | undefined {
  const secret = secretOf(row)
  if (secret.includes('-')) return 'its key has a "-", and never worked there: what follows one names a channel'
  const group = textIn(row, 'group') || textIn(user, 'group')
  const factor = factors.get(group) ?? 1
  if (factor !== 1) return `its group ${group} pays ${factor} times the price: no price here depends on a group`
  const addresses = [textIn(row, 'subnet'), textIn(row, 'allow_ips')].find((text) => text.trim() !== '')
  if (addresses !== undefined) return `it is bound to addresses (${addresses.trim().replace(/\s+/g, ', ')}), and no key here is`
  if ([balanceOf(user, perUsd), limitOf(row, perUsd)].some((amount) => amount !== undefined && amount.picos > BALANCE_PICOS_MAX))
    return 'its quota is more than an account can hold here'
  return problemOfSecret(secret, rules)
}

/** One-api has a list; new-api has one that may be switched off. */
function modelsOf(row: Row): readonly string[] | 'all' {
  const isLimited = row['model_limits_enabled'] === undefined || flagIn(row, 'model_limits_enabled')
  const text = isLimited ? textIn(row, row['model_limits_enabled'] === undefined ? 'models' : 'model_limits') : ''
  const models = text
    .split(',')
    .map((model) => model.trim())
    .filter((model) => model !== '')
  return models.length === 0 ? 'all' : models
}

function noteAmount(what: string, { picos, rest }: Amount, note: (what: string) => void): void {
  if (rest !== '') note(`${what} is rounded down: ${rest} is left out`)
  if (picos < ZERO) note(`${what} is overspent: it comes as 0`)
}
