/**
 * `tollgate import --check`: for imported accounts and keys, what they had, what came and was spent here since, and what they have now. What was spent here is what a
 * gateway to which one goes back must take off. Rules: operator.md "Import".
 */

import { type Picos, picos, toExactUsdText, usdFields, ZERO } from '../../core/money.ts'
import { isoOrNull } from '../../core/utc.ts'
import type { ImportedAccountNow, ImportedKeyNow } from '../../ledger/reading/imported-keys.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop } from '../environment.ts'
import { readReport } from '../read-report.ts'
import { tableText } from '../text.ts'

/** 0 when every amount is where it must be. */
const accountDifference = ({ thenPicos, creditedPicos, spentPicos, balancePicos }: ImportedAccountNow): Picos =>
  picos(thenPicos + creditedPicos - spentPicos - balancePicos)

const keyDifference = ({ spentPicos, countedPicos }: ImportedKeyNow): Picos => picos(spentPicos - countedPicos)

const leftOf = ({ limitPicos, countedPicos }: ImportedKeyNow): Picos | null =>
  limitPicos === null ? null : picos(limitPicos - countedPicos)

export function checkImported(context: CommandContext): ExitCode | Stop {
  const now = readReport(context, ({ imported }) => ({ accounts: imported.accountsNow(), keys: imported.keysNow() }))
  if (isStop(now)) return now
  const { accounts, keys } = now
  const isClean = accounts.every((row) => accountDifference(row) === ZERO) && keys.every((row) => keyDifference(row) === ZERO)
  const document = { ok: isClean, accounts: accounts.map(accountDocument), keys: keys.map(keyDocument) }
  context.say(document, () => checkText(accounts, keys, isClean))
  return isClean ? EXIT.ok : EXIT.finding
}

const accountDocument = (row: ImportedAccountNow) => ({
  account_id: row.accountId,
  name: row.accountName,
  source: row.sources,
  ...usdFields('then', row.thenPicos),
  ...usdFields('credited_since', row.creditedPicos),
  ...usdFields('spent_here', row.spentPicos),
  ...usdFields('balance', row.balancePicos),
  ...usdFields('difference', accountDifference(row)),
})

const keyDocument = (row: ImportedKeyNow) => ({
  key_id: row.keyId,
  account_id: row.accountId,
  system: row.system,
  source: row.source,
  imported_at: isoOrNull(Number(row.importedAt)),
  ...usdFields('limit_then', row.thenLimitPicos),
  ...usdFields('limit', row.limitPicos),
  ...usdFields('spent_here', row.spentPicos),
  ...usdFields('left', leftOf(row)),
  ...usdFields('difference', keyDifference(row)),
})

const exact = (amount: Picos | null): string => (amount === null ? 'none' : `$${toExactUsdText(amount)}`.replace('$-', '-$'))

function checkText(accounts: readonly ImportedAccountNow[], keys: readonly ImportedKeyNow[], isClean: boolean): string {
  const ofAccounts = tableText(
    ['ACCOUNT', 'FROM', 'THEN', 'CREDITED SINCE', 'SPENT HERE', 'BALANCE', 'DIFFERENCE'],
    accounts.map((row) => [
      row.accountName || row.accountId,
      row.sources,
      ...[row.thenPicos, row.creditedPicos, row.spentPicos, row.balancePicos, accountDifference(row)].map(exact),
    ]),
    'No key was imported.',
  )
  if (keys.length === 0) return ofAccounts
  const ofKeys = tableText(
    ['KEY', 'FROM', 'LIMIT THEN', 'LIMIT', 'SPENT HERE', 'LEFT', 'DIFFERENCE'],
    keys.map((row) => [
      row.keyId,
      `${row.system}:${row.source}`,
      ...[row.thenLimitPicos, row.limitPicos, row.spentPicos, leftOf(row), keyDifference(row)].map(exact),
    ]),
    '',
  )
  return [ofAccounts, ofKeys, isClean ? 'All of it adds up.' : 'It does not add up: run `tollgate verify`.'].join('\n\n')
}
