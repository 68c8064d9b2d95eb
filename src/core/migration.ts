/** Which steps bring a ledger from its version to that of this program. Rules: ledger.md "Migrations". */

/**
 * `sql` makes a ledger of `version` out of one of the version before. `nodesFrom`, on Postgres: it takes away or changes what programs below that version use, so
 * it waits until none of their nodes lives; absent: they run on beside it.
 */
export type Migration = Readonly<{ version: number; sql: string; nodesFrom?: number }>

/** `steps`: in order, never empty. `unknown`: older than the first, so nothing leads on from it. */
export type Plan =
  | Readonly<{ kind: 'current' }>
  | Readonly<{ kind: 'due'; steps: readonly Migration[] }>
  | Readonly<{ kind: 'newer' }>
  | Readonly<{ kind: 'unknown' }>

/** `migrations`: all of them, in order; the first makes a new ledger. `version`: of the ledger that is there. */
export function planOf(migrations: readonly Migration[], version: number): Plan {
  const newest = newestOf(migrations)
  if (version > newest) return { kind: 'newer' }
  if (!migrations.some((migration) => migration.version === version)) return { kind: 'unknown' }
  return version === newest ? { kind: 'current' } : { kind: 'due', steps: migrations.filter((migration) => migration.version > version) }
}

export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0
