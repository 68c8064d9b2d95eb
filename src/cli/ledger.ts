/** `tollgate ledger copy`: copies a ledger in a file, with its people, to Postgres. Rules: ledger.md "Copy"; operator.md "Commands". */

import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Environment } from '../config/secret.ts'
import type { Difference } from '../ledger/chain/difference.ts'
import { type CopyResult, copyToPostgres } from '../ledger/copy-to-postgres.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { copyTable, tableFindings } from '../ledger/postgres/copy-tables.ts'
import type { Connection } from '../ledger/sql/connection.ts'
import { PEOPLE_TABLES, peoplePathOf } from '../people/people-file.ts'
import { makeTables } from '../people/postgres/migrate.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, noLedger, type Stop, wrongUse } from './environment.ts'
import { differenceTable } from './verify.ts'

export function addLedger(program: Command, run: Run): void {
  const ledger = program.command('ledger').description('what is done with a ledger as a whole')
  const copy = withJson(ledger.command('copy'))
    .description('copy the ledger of a file, with its people, into an empty database of Postgres; no gateway may run')
    .option('--to <URL>', 'its address: postgres://USER:PASSWORD@HOST:PORT/DATABASE; others on this machine can see a password in it')
    .option('--to-env <NAME>', 'the environment variable with its address')
  copy.action((target: Target) => run(copy, (context) => copyLedger(context, target)))
}

type Target = Readonly<{ to?: string; toEnv?: string }>

async function copyLedger(context: CommandContext, target: Target): Promise<ExitCode | Stop> {
  const { env, startThread, startSyncDriver, now } = context.environment
  const { path } = context.config.ledger
  const url = urlOf(target, env)
  if (typeof url !== 'string') return url
  const bootId = newId('boot', now())
  const beside = (to: Connection) => copyPeople(peoplePathOf(path), to)
  return say(context, await copyToPostgres({ path, to: { url }, beside, startThread, startSyncDriver, bootId, now }))
}

function urlOf({ to, toEnv }: Target, env: Environment): string | Stop {
  if ((to === undefined) === (toEnv === undefined)) return wrongUse('expected one of --to URL and --to-env NAME')
  const url = to ?? env[toEnv ?? ''] ?? ''
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url
  const where = to === undefined ? `in the environment variable ${toEnv}` : 'after --to'
  return wrongUse(`expected postgres://USER:PASSWORD@HOST:PORT/DATABASE ${where}`)
}

/** Copies the people to Postgres. Without a file there are none, and the first page makes the tables. */
function copyPeople(path: string, to: Connection): readonly Difference[] {
  if (!existsSync(path)) return []
  const from = new Database(path, { readonly: true, safeIntegers: true, strict: true })
  try {
    return from.transaction(() => {
      makeTables((text) => to.run(text))
      const bounded = ['session', 'verification']
      for (const name of bounded) to.run(`ALTER TABLE people.${name} DISABLE TRIGGER USER`)
      for (const table of PEOPLE_TABLES) copyTable(from, to, table)
      for (const name of bounded) to.run(`ALTER TABLE people.${name} ENABLE TRIGGER USER`)
      return PEOPLE_TABLES.flatMap((table) => tableFindings(from, to, table))
    })()
  } finally {
    from.close()
  }
}

function say(context: CommandContext, result: CopyResult): ExitCode | Stop {
  switch (result.kind) {
    case 'no file':
      return noLedger(result.problem.message)
    case 'no target':
      return wrongUse(`${result.message}; nothing was copied`)
    case 'differs': {
      const { of, differences } = result
      context.say(
        { ok: false, of, data: differences },
        () => `The ${of} is not in order; nothing was copied:\n${differenceTable(differences)}`,
      )
      return EXIT.finding
    }
    case 'copied': {
      const { rows, recovered, keyPath } = result
      const document = { ok: true, rows: Object.fromEntries(rows), recovered, statement_key: keyPath ?? null }
      context.say(document, () =>
        [
          `The ledger was copied (${rows.get('receipts')} receipts of ${rows.get('accounts')} accounts), and the copy is in order.`,
          ...(recovered === 0 ? [] : [`${recovered} requests that a dead gateway left were waived first.`]),
          ...(keyPath === undefined
            ? []
            : [`Statements go on under the same key: put what ${keyPath} holds into the variable of ledger.statement_key_env.`]),
          'Name the database by ledger.url_env now: the file can still be read, and no gateway serves it any more.',
        ].join('\n'),
      )
      return EXIT.ok
    }
  }
}
