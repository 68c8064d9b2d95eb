/**
 * `tollgate import …`: brings the keys of another gateway as they are, with their accounts and balances; and compares their money then and now. Nothing is written without
 * `--apply`. Rules: operator.md "Import".
 */

import { Argument, type Command } from 'commander'
import { modelsOf } from '../core/catalog.ts'
import { type Fresh, freshOf, type Known } from '../core/import/against-ledger.ts'
import { mapLiteLlm } from '../core/import/litellm.ts'
import type { Mapped, MappingRules } from '../core/import/mapped.ts'
import { mapOneApi } from '../core/import/one-api.ts'
import { IMPORT_SYSTEMS, type ImportSystem } from '../core/import/systems.ts'
import { IMPORTED_KEYS_MAX } from '../core/limits.ts'
import type { ImportedAccount, OperationOf } from '../ledger/operation.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { hashOf } from '../ledger/operations/secret-hash.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { checkImported } from './import/check.ts'
import { importDocument, importText } from './import/import-text.ts'
import { readSource, type Source, type SourceOptions } from './import/source.ts'
import { liteLlmRows, oneApiRows } from './import/source-rows.ts'
import { operate, type Why, withReason } from './operate.ts'
import { readReport } from './read-report.ts'

type Options = Why & SourceOptions & { only?: string[]; acceptWeak?: boolean; apply?: boolean; sourceStopped?: boolean; check?: boolean }

export function addImport(program: Command, run: Run): void {
  const command = withReason(withJson(program.command('import')))
    .description('bring the keys of another gateway, unchanged; without --apply only say what would come')
    .addArgument(new Argument('[SYSTEM]', 'the gateway that has them').choices(IMPORT_SYSTEMS))
    .option('--from-env <NAME>', 'the environment variable with the address of its database: Postgres, MySQL, or a file of SQLite')
    .option('--from <FILE>', 'its file of SQLite')
    .option('--only <NAMES...>', 'only these users or teams of theirs: id or name')
    .option('--accept-weak', 'also keys of fewer than 20 characters, which may be guessed')
    .option('--apply', 'write it')
    .option('--source-stopped', 'with --apply: that gateway answers none of these keys any more')
    .option('--check', 'compare what imported keys had then, what they have spent here, and what they have now')
  command.action((system: ImportSystem | undefined, options: Options) => run(command, (context) => importKeys(context, system, options)))
}

async function importKeys(context: CommandContext, system: ImportSystem | undefined, options: Options): Promise<ExitCode | Stop> {
  if (options.check === true)
    return system === undefined ? checkImported(context) : wrongUse('--check looks at all imported keys: name no system')
  if (system === undefined) return wrongUse(`expected one of ${IMPORT_SYSTEMS.join(', ')}, or --check`)
  if (options.apply === true && options.sourceStopped !== true)
    return wrongUse(
      'while both answer, the same balance is spent twice: stop it, or block these keys there, and say so by --source-stopped',
    )
  const found = await readSource(options, context.environment, (source) => mappedOf(context, system, source, options))
  if ('problem' in found) return wrongUse(found.problem)
  const fresh = freshIn(context, system, onlyOf(found.mapped, options.only))
  if (isStop(fresh)) return fresh
  const keys = fresh.accounts.reduce((sum, account) => sum + account.keys.length, 0)
  const state = { system, fresh, isApplied: options.apply === true }
  if (options.apply === true && keys > 0) {
    if (keys > IMPORTED_KEYS_MAX)
      return wrongUse(`${keys} keys are more than one import brings, ${IMPORTED_KEYS_MAX}: bring a part of them by --only`)
    const stop = stillRunning(found.lastUsedAt, context.environment.now())
    if (stop !== undefined) return stop
    const done = await operate(context, operationOf(system, fresh, context.environment.now()), { ...options, create: true })
    if (isStop(done)) return done
  }
  context.say(importDocument(state), () => importText(state))
  return EXIT.ok
}

type Found = Readonly<{ mapped: Mapped; lastUsedAt: number }>

async function mappedOf(
  context: CommandContext,
  system: ImportSystem,
  source: Source,
  { acceptWeak = false }: Options,
): Promise<Found | Readonly<{ problem: string }>> {
  const { catalog } = context.config
  const plans = new Map([...catalog.plans.keys()].map((plan) => [plan, modelsOf(catalog, plan).map(({ id }) => id)]))
  const rules: MappingRules = { now: context.environment.now(), plans, isWeakAccepted: acceptWeak, hashOf }
  if (system === 'litellm') {
    const read = await liteLlmRows(source)
    return 'problem' in read ? read : { mapped: mapLiteLlm(read.rows, rules), lastUsedAt: read.lastUsedAt }
  }
  const { rows, lastUsedAt } = await oneApiRows(source, system)
  const mapped = mapOneApi(rows, rules)
  return 'problem' in mapped ? mapped : { mapped, lastUsedAt }
}

/** `names`: ids or names of accounts there; absent: all. */
function onlyOf(mapped: Mapped, names: readonly string[] | undefined): Mapped {
  if (names === undefined) return mapped
  const accounts = mapped.accounts.filter(
    ({ source, name }) => names.includes(name) || names.includes(source.slice(source.indexOf(':') + 1)),
  )
  const sources = new Set(accounts.map(({ source }) => source))
  return { accounts, findings: mapped.findings.filter(({ account }) => sources.has(account)) }
}

function freshIn(context: CommandContext, system: ImportSystem, mapped: Mapped): Fresh | Stop {
  const known = readReport(
    context,
    ({ imported }): Known => ({ keys: imported.known(system), hashes: imported.hashes(), accountNames: imported.accountNames() }),
    (): Known => ({ keys: [], hashes: new Set(), accountNames: new Set() }),
  )
  if (isStop(known)) return known
  const fresh = freshOf(system, mapped, known)
  return 'problem' in fresh ? wrongUse(fresh.problem) : fresh
}

/** A gateway whose keys were used a moment ago still answers, whatever was said. */
const QUIET_MS = 60_000

function stillRunning(lastUsedAt: number, now: number): Stop | undefined {
  if (lastUsedAt === 0 || now - lastUsedAt >= QUIET_MS) return undefined
  return wrongUse(
    `one of its keys was used at ${new Date(lastUsedAt).toISOString()}, less than a minute ago: nothing is brought until it is quiet`,
  )
}

const operationOf = (system: ImportSystem, { accounts }: Fresh, now: number): OperationOf<'importKeys'> => ({
  kind: 'importKeys',
  system,
  accounts: accounts.map(
    (account): ImportedAccount => ({
      accountId: account.accountId ?? newId('acc', now),
      source: account.source,
      name: account.name,
      creditId: newId('crd', now),
      balancePicos: account.balancePicos,
      budget: account.budget,
      keys: account.keys.map((key) => ({ keyId: newId('key', now), ...key })),
    }),
  ),
  now,
})
