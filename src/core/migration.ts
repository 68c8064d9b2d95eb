/** Which steps bring a ledger from its version to that of this program. Rules: ledger.md "Migrations". */

/**
 * `sql` makes a ledger of `version` out of one of the version before. `nodesFrom`, on Postgres: the step takes away or changes what programs below that version use, so
 * it waits until no node with such a program lives; absent: older programs may run on beside it.
 */
export type Migration = Readonly<{ version: number; sql: string; nodesFrom?: number }>

/** `steps`: in order, never empty. `unknown`: the ledger is older than the first migration, so no step leads on from it. */
export type Plan =
  | Readonly<{ kind: 'current' }>
  | Readonly<{ kind: 'due'; steps: readonly Migration[] }>
  | Readonly<{ kind: 'newer' }>
  | Readonly<{ kind: 'unknown' }>

/** `migrations`: all of them, in order; the first makes a new ledger. `version`: the version of the existing ledger. */
export function planOf(migrations: readonly Migration[], version: number): Plan {
  const newest = newestOf(migrations)
  if (version > newest) return { kind: 'newer' }
  if (!migrations.some((migration) => migration.version === version)) return { kind: 'unknown' }
  return version === newest ? { kind: 'current' } : { kind: 'due', steps: migrations.filter((migration) => migration.version > version) }
}

export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0
