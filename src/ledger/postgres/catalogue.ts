/**
 * Describes the ledger's schema on Postgres by its catalogue, in the same words on each version of the server: one line for each column, table, constraint,
 * index, trigger, rewrite rule, view and function. Rules: money.md "Verify".
 */

import type { Connection } from '../sql/connection.ts'

const OF_SCHEMA = "(SELECT oid FROM pg_namespace WHERE nspname = 'ledger')"

/** Before Postgres 16 the columns of a view of one table are written with the table's name before their own. */
const OF_TABLE = `'(?<!FROM |JOIN )\\m(' || (SELECT string_agg(relname, '|') FROM pg_class WHERE relnamespace = ${OF_SCHEMA} AND relkind = 'r') || ')\\.'`

/** The line of a function; it has a hash of the source as it was given. */
const FUNCTION = `concat_ws(' ', '(' || pg_get_function_arguments(p.oid) || ')', 'RETURNS ' || pg_get_function_result(p.oid), l.lanname,
  CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END, CASE WHEN p.proisstrict THEN 'STRICT' END,
  CASE WHEN p.prosecdef THEN 'SECURITY DEFINER' END, array_to_string(p.proconfig, ' '), 'SHA-256 ' || encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))`

/** NOT NULL is in the line of the column. The constraint for it, which exists only since Postgres 18, has no line. */
const CATALOGUE = `
  SELECT 'column ' || c.relname || '.' || a.attname AS name, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce(' COLLATE ' || l.collname, '') || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') || CASE a.attidentity WHEN '' THEN '' ELSE ' IDENTITY' END AS text
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
  WHERE c.relnamespace = ${OF_SCHEMA} AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT 'table ' || relname, CASE relpersistence WHEN 'u' THEN 'unlogged' ELSE 'logged' END || CASE WHEN relrowsecurity THEN ' ROW SECURITY' ELSE '' END
  FROM pg_class WHERE relnamespace = ${OF_SCHEMA} AND relkind = 'r'
  UNION ALL SELECT 'rule ' || c.relname || '.' || o.conname, pg_get_constraintdef(o.oid)
  FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid WHERE o.connamespace = ${OF_SCHEMA} AND o.contype <> 'n'
  UNION ALL SELECT 'index ' || c.relname, pg_get_indexdef(i.indexrelid) || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = ${OF_SCHEMA}
  UNION ALL SELECT 'trigger ' || c.relname || '.' || t.tgname, pg_get_triggerdef(t.oid) || CASE t.tgenabled WHEN 'O' THEN '' ELSE ' (off)' END
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ${OF_SCHEMA} AND NOT t.tgisinternal
  UNION ALL SELECT 'rewriting ' || c.relname || '.' || r.rulename, pg_get_ruledef(r.oid)
  FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = ${OF_SCHEMA} AND r.rulename <> '_RETURN'
  UNION ALL SELECT 'view ' || relname, regexp_replace(regexp_replace(pg_get_viewdef(oid), '\\s+', ' ', 'g'), ${OF_TABLE}, '', 'g')
  FROM pg_class WHERE relnamespace = ${OF_SCHEMA} AND relkind = 'v'
  UNION ALL SELECT 'function ' || p.proname, string_agg(${FUNCTION}, '; ' ORDER BY oidvectortypes(p.proargtypes) COLLATE "C")
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = ${OF_SCHEMA} GROUP BY p.proname`

/** The descriptions by name. */
export const catalogueOf = (db: Connection): ReadonlyMap<string, string> =>
  new Map(
    db
      .query<{ name: string; text: string }, []>(
        `SELECT CAST(name AS TEXT) AS name, CAST(text AS TEXT) AS text FROM (${CATALOGUE}) lines ORDER BY name COLLATE "C"`,
      )
      .all()
      .map(({ name, text }) => [name, text]),
  )
