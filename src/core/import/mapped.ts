/**
 * What another gateway's rows become here, before anything is written: accounts with their keys, and a finding for each thing that comes otherwise or not at all. Rules:
 * operator.md "Import".
 */

import type { ForeignForm } from '../key.ts'
import { KEY_EXPIRY_DAYS_MAX } from '../limits.ts'
import type { Picos } from '../money.ts'
import { DAY_MS } from '../utc.ts'
import type { Budget } from '../windows.ts'

/** `source`: what names the key there. */
export type MappedKey = Readonly<{
  source: string
  name: string
  display: string
  secretHashes: readonly Readonly<{ hash: Uint8Array; validUntil: number | null }>[]
  form: ForeignForm
  plan: string
  /** What is left of its own budget; null: it has none. */
  limitPicos: Picos | null
  /** What it may spend in each window; null: it has no such budget. */
  budget: Budget | null
  /** Unix milliseconds; null: never. */
  expiresAt: number | null
  isActive: boolean
}>

/** `source`: what names the payer there, such as `user:17`. `budget`: what all its keys together may spend in each window. */
export type MappedAccount = Readonly<{
  source: string
  name: string
  balancePicos: Picos
  budget: Budget | null
  keys: readonly MappedKey[]
}>

/** `account`: the source of the account to which it belongs. `isBrought`: the key or account comes all the same. */
export type Finding = Readonly<{ account: string; subject: string; isBrought: boolean; what: string }>

export type Mapped = Readonly<{ accounts: readonly MappedAccount[]; findings: readonly Finding[] }>

/** `plans`: the models of each plan of the configuration. `isWeakAccepted`: also short secrets come. */
export type MappingRules = Readonly<{
  now: number
  plans: ReadonlyMap<string, readonly string[]>
  isWeakAccepted: boolean
  hashOf: (text: string) => Uint8Array
}>

/** Puts keys under their accounts, in the order in which they come. */
export class Accounts {
  readonly #accounts = new Map<string, Omit<MappedAccount, 'keys'> & { keys: MappedKey[] }>()
  readonly findings: Finding[] = []

  note(account: string, subject: string, isBrought: boolean, what: string): void {
    this.findings.push({ account, subject, isBrought, what })
  }

  add(payer: Omit<MappedAccount, 'keys'>, key: MappedKey): void {
    const account = this.#accounts.get(payer.source) ?? { ...payer, keys: [] }
    account.keys.push(key)
    this.#accounts.set(payer.source, account)
  }

  mapped(): Mapped {
    return { accounts: [...this.#accounts.values()], findings: this.findings }
  }
}

/** The same plan for keys that may use everything as for new keys. */
const PLAN_OF_ALL = 'default'

/** The plan with exactly these models; `all`: the default one. */
export function planOf(
  models: readonly string[] | 'all',
  { plans }: Pick<MappingRules, 'plans'>,
): Readonly<{ name: string }> | Readonly<{ problem: string }> {
  const wanted = new Set(models)
  const isSame = (of: readonly string[]): boolean => of.length === wanted.size && of.every((model) => wanted.has(model))
  const found = models === 'all' ? [...plans.keys()] : [...plans].filter(([, of]) => isSame(of)).map(([name]) => name)
  const name = found.includes(PLAN_OF_ALL) || models === 'all' ? PLAN_OF_ALL : found[0]
  if (name !== undefined && found.includes(name)) return { name }
  if (models === 'all') return { problem: `it may use all models, and there is no plan "${PLAN_OF_ALL}" here` }
  return { problem: `no plan here has exactly its models: ${models.join(', ') || 'none'}` }
}

export const EXPIRY_CUT = `it ends later than ${KEY_EXPIRY_DAYS_MAX} days from now: here it ends after ${KEY_EXPIRY_DAYS_MAX}, and can be extended`

/** The end of a key that may be too far ahead. */
export function expiryOf(wanted: number | undefined, now: number): Readonly<{ expiresAt: number | null; isCut: boolean }> {
  const latest = now + KEY_EXPIRY_DAYS_MAX * DAY_MS
  if (wanted === undefined) return { expiresAt: null, isCut: false }
  return wanted > latest ? { expiresAt: latest, isCut: true } : { expiresAt: Math.max(0, wanted), isCut: false }
}

/** The shortest secret that comes without being asked for, where its text is known. */
const STRONG_CHARS = 20

/** Why a secret whose text is known cannot come; undefined: it can. */
export function problemOfSecret(text: string, { isWeakAccepted }: Pick<MappingRules, 'isWeakAccepted'>): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(text)) return 'its secret has other characters than visible ASCII'
  if (text.length < 16 || text.length > 125) return `its secret has ${text.length} characters: 16 to 125 can be a key here`
  if (text.length < STRONG_CHARS && !isWeakAccepted)
    return `its secret has only ${text.length} characters, and may be guessed: --accept-weak brings it`
  return undefined
}
