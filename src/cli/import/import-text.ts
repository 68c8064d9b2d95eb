/** What an import brings, as a document and as text: every key with its account, then everything that comes otherwise than it is there. Rules: operator.md "Import". */

import type { Fresh } from '../../core/import/against-ledger.ts'
import type { Finding, MappedKey } from '../../core/import/mapped.ts'
import type { ImportSystem } from '../../core/import/systems.ts'
import { type Picos, sumPicos, usdFields, ZERO } from '../../core/money.ts'
import { isoOrNull } from '../../core/utc.ts'
import type { Budget } from '../../core/windows.ts'
import { factsText, tableText, timeText, usdText } from '../text.ts'

type Imported = Readonly<{ system: ImportSystem; fresh: Fresh; isApplied: boolean }>

/** What is credited: an account that is here already gets nothing again. */
const creditOf = ({ accountId, balancePicos }: Fresh['accounts'][number]): Picos => (accountId === undefined ? balancePicos : ZERO)

const budgetDocument = (budget: Budget | null) => budget && { per: budget.per, ...usdFields('limit', budget.capPicos) }
const limitText = ({ limitPicos, budget }: MappedKey): string =>
  budget === null ? usdText(limitPicos) : `${usdText(budget.capPicos)} per ${budget.per}`

export const importDocument = ({ system, fresh: { accounts, findings, known }, isApplied }: Imported) => ({
  system,
  applied: isApplied,
  accounts: accounts.map((account) => ({
    source: account.source,
    id: account.accountId ?? null,
    name: account.name,
    ...usdFields('credit', creditOf(account)),
    budget: budgetDocument(account.accountId === undefined ? account.budget : null),
    keys: account.keys.map((key) => ({
      source: key.source,
      name: key.name,
      display: key.display,
      plan: key.plan,
      ...usdFields('limit', key.limitPicos),
      budget: budgetDocument(key.budget),
      expires_at: isoOrNull(key.expiresAt),
      is_active: key.isActive,
    })),
  })),
  already_here: known,
  findings: findings.map(({ subject, isBrought, what }) => ({ subject, brought: isBrought, what })),
})

export function importText({ system, fresh: { accounts, findings, known }, isApplied }: Imported): string {
  const rows = accounts.flatMap((account) =>
    account.keys.map((key, place) => [
      place === 0 ? account.name || account.source : '',
      place === 0 ? usdText(creditOf(account)) : '',
      key.name || key.source.slice(0, 16),
      key.display,
      key.plan,
      limitText(key),
      timeText(key.expiresAt),
      key.isActive ? 'live' : 'disabled',
    ]),
  )
  const total = sumPicos(...accounts.map(creditOf))
  const facts = factsText([
    [isApplied ? 'brought' : 'would come', `${rows.length} keys of ${accounts.length} accounts, with ${usdText(total)}`],
    ['here already', `${known} keys`],
    ['not brought', `${findings.filter(({ isBrought }) => !isBrought).length}`],
  ])
  const head = ['ACCOUNT', 'CREDIT', 'KEY', 'SECRET', 'PLAN', 'LIMIT', 'EXPIRES', 'STATE']
  const table = tableText(head, rows, `${system} has no key that is new here.`)
  const last = isApplied || rows.length === 0 ? [] : ['Nothing is written yet: stop the other gateway, then add --apply --source-stopped.']
  return [table, ...findingText(findings), facts, ...last].join('\n\n')
}

const findingText = (findings: readonly Finding[]): readonly string[] =>
  findings.length === 0
    ? []
    : [
        tableText(
          ['OF', 'COMES', 'WHAT'],
          findings.map(({ subject, isBrought, what }) => [subject, isBrought ? 'yes' : 'no', what]),
          '',
        ),
      ]
