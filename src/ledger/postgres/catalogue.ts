/** What is in the ledger's schema on Postgres, as its catalogue tells it: a line a column, rule, index, trigger and view, and its functions. Rules: money.md "Verify". */

import type { Connection } from '../connection.ts'

const OF_SCHEMA = "(SELECT oid FROM pg_namespace WHERE nspname = 'ledger')"

/** Numbers of versions, such as that of a constraint that says NOT NULL since Postgres 18, are left out: the column says it. */
const CATALOGUE = `
  SELECT 'column ' || c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce(' COLLATE ' || l.collname, '') || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') || CASE a.attidentity WHEN '' THEN '' ELSE ' IDENTITY' END AS text
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
  WHERE c.relnamespace = ${OF_SCHEMA} AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT 'table ' || relname, CASE relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END
  FROM pg_class WHERE relnamespace = ${OF_SCHEMA} AND relkind = 'r'
  UNION ALL SELECT 'rule ' || c.relname || '.' || o.conname, pg_get_constraintdef(o.oid)
  FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid WHERE o.connamespace = ${OF_SCHEMA} AND o.contype <> 'n'
  UNION ALL SELECT 'index ' || c.relname, pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = ${OF_SCHEMA}
  UNION ALL SELECT 'trigger ' || c.relname || '.' || t.tgname, pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' ELSE ' (off)' END
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ${OF_SCHEMA} AND NOT t.tgisinternal
  UNION ALL SELECT 'view ' || c.relname, pg_get_viewdef(c.oid) FROM pg_class c WHERE c.relnamespace = ${OF_SCHEMA} AND c.relkind = 'v'`

/** By name. */
export const catalogueOf = (db: Connection): ReadonlyMap<string, string> =>
  new Map(
    db
      .query<{ name: string; text: string }, []>(
        `SELECT CAST(name AS TEXT) AS name, CAST(text AS TEXT) AS text FROM (${CATALOGUE}) lines ORDER BY name COLLATE "C"`,
      )
      .all()
      .map(({ name, text }) => [name, text]),
  )

/** Name and source of each. */
export const functionsOf = (db: Connection): readonly Readonly<{ name: string; source: string }>[] =>
  db
    .query<{ name: string; source: string }, []>(
      `SELECT CAST(proname AS TEXT) AS name, prosrc AS source FROM pg_proc WHERE pronamespace = ${OF_SCHEMA} ORDER BY 1, 2`,
    )
    .all()
