/**
 * What of another gateway's keys is new to this ledger, under names that are free here, and where its figures differ from those that came before. Rules: operator.md
 * "Import".
 */

import { toExactUsdText } from '../money.ts'
import { problemOfName } from '../names.ts'
import type { Finding, Mapped, MappedAccount, MappedKey } from './mapped.ts'
import type { ImportSystem } from './systems.ts'

/** A key that came before. `source…`: its name there, and that of its account. Amounts are those of then. */
export type KnownKey = Readonly<{
  source: string
  sourceAccount: string
  accountId: string
  keyName: string
  accountPicos: bigint
}>

/** `hashes`: those of all imported secrets, in hex. `accountNames`: of all accounts. */
export type Known = Readonly<{ keys: readonly KnownKey[]; hashes: ReadonlySet<string>; accountNames: ReadonlySet<string> }>

/** `accountId` undefined: the account is new. */
type NewAccount = MappedAccount & Readonly<{ accountId: string | undefined }>

/** `known`: how many of its keys are here already. */
export type Fresh = Readonly<{ accounts: readonly NewAccount[]; findings: readonly Finding[]; known: number }>

/** `problem`: nothing can come. */
export function freshOf(system: ImportSystem, mapped: Mapped, known: Known): Fresh | Readonly<{ problem: string }> {
  const keys = new Map(known.keys.map((key) => [key.source, key]))
  const payers = new Map(known.keys.map((key) => [key.sourceAccount, key]))
  const isOther = ({ source, secretHashes }: MappedKey): boolean =>
    keys.has(source) && !secretHashes.some(({ hash }) => known.hashes.has(hash.toHex()))
  const other = mapped.accounts.flatMap((account) => account.keys).find(isOther)
  if (other !== undefined)
    return { problem: `${other.source} came before with another secret: this is another database than the one that was imported` }

  const names = new FreeNames(known.accountNames)
  const findings = [...mapped.findings]
  const accounts: NewAccount[] = []
  for (const account of mapped.accounts) {
    const payer = payers.get(account.source)
    if (payer !== undefined && payer.accountPicos !== account.balancePicos) findings.push(differs(account, payer))
    const fresh = account.keys.filter(({ source }) => !keys.has(source))
    if (fresh.length === 0) continue
    const own = new FreeNames(
      payer === undefined ? [] : known.keys.filter((key) => key.accountId === payer.accountId).map((key) => key.keyName),
    )
    const named = fresh.map((key) => ({ ...key, name: own.take(key.name, key.source.slice(0, 16), system) }))
    const name = payer === undefined ? names.take(account.name, account.source, system) : account.name
    accounts.push({ ...account, accountId: payer?.accountId, name, keys: named })
  }
  const brought = accounts.reduce((sum, account) => sum + account.keys.length, 0)
  const total = mapped.accounts.reduce((sum, account) => sum + account.keys.length, 0)
  return { accounts, findings, known: total - brought }
}

function differs({ source, balancePicos }: MappedAccount, { accountPicos }: KnownKey): Finding {
  const [now, then] = [balancePicos, accountPicos].map((amount) => toExactUsdText(amount as typeof balancePicos))
  const what = `it has $${now} there now, and had $${then} when it came: nothing is credited again`
  return { account: source, subject: source, isBrought: false, what }
}

const NAME_CHARS_MAX = 128

/** Gives each name once: a second time with what names its owner there. */
class FreeNames {
  readonly #taken: Set<string>

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken)
  }

  /** '' where the name cannot be one here, even with its source. */
  take(wanted: string, source: string, system: ImportSystem): string {
    const clean = wanted.replace(/\p{C}/gu, ' ').trim()
    const suffix = ` (${system} ${source})`
    for (const name of [clean.slice(0, NAME_CHARS_MAX).trim(), `${clean.slice(0, NAME_CHARS_MAX - suffix.length).trim()}${suffix}`]) {
      if (clean === '' || problemOfName(name) !== undefined || this.#taken.has(name)) continue
      this.#taken.add(name)
      return name
    }
    return ''
  }
}
