/** The rows of LiteLLM, one-api and new-api that an import needs, and nothing else of them: no password, and no secret of theirs but the keys. Rules: operator.md "Import". */

import type { LiteLlmRows } from '../../core/import/litellm-budgets.ts'
import type { OneApiRows } from '../../core/import/one-api.ts'
import type { Row } from '../../core/import/row.ts'
import type { Source } from './source.ts'

/** `lastUsedAt`: when the newest request of any key came, in Unix milliseconds; 0: that is not known. */
export type SourceRows<T> = Readonly<{ rows: T; lastUsedAt: number }>

type Problem = Readonly<{ problem: string }>

const LITELLM_TABLES = {
  keys: 'LiteLLM_VerificationToken',
  users: 'LiteLLM_UserTable',
  teams: 'LiteLLM_TeamTable',
  organizations: 'LiteLLM_OrganizationTable',
  projects: 'LiteLLM_ProjectTable',
  budgets: 'LiteLLM_BudgetTable',
  teamMembers: 'LiteLLM_TeamMembership',
  organizationMembers: 'LiteLLM_OrganizationMembership',
  deprecated: 'LiteLLM_DeprecatedVerificationToken',
} as const
const LITELLM_TIMES = ['expires', 'revoke_at', 'last_active']

export async function liteLlmRows({ dialect, query }: Source): Promise<SourceRows<LiteLlmRows> | Problem> {
  if (dialect !== 'postgres') return { problem: 'LiteLLM keeps its keys in Postgres: give the address of that by --from-env' }
  const there = new Set((await query('SELECT table_name AS name FROM information_schema.tables')).map(({ name }) => name))
  if (!there.has(LITELLM_TABLES.keys)) return { problem: `there is no table "${LITELLM_TABLES.keys}": this is no database of LiteLLM` }
  const read = async (table: string): Promise<readonly Row[]> => {
    if (!there.has(table)) return []
    const rows = await query(`SELECT CAST(to_jsonb(t) - 'password' AS TEXT) AS json FROM "${table}" t ORDER BY 1`)
    return rows.map(({ json }) => withTimes(JSON.parse(String(json)) as Row))
  }
  const rows: Record<string, readonly Row[]> = {}
  for (const [name, table] of Object.entries(LITELLM_TABLES)) rows[name] = await read(table)
  return { rows: rows as LiteLlmRows, lastUsedAt: newestOf(rows['keys'] ?? [], 'last_active') }
}

/** Its times are UTC without a zone. */
function withTimes(row: Row): Row {
  const times = LITELLM_TIMES.filter((name) => typeof row[name] === 'string')
  return { ...row, ...Object.fromEntries(times.map((name) => [name, Date.parse(`${row[name]}`.replace(/(?<!Z|[+-]\d\d:?\d\d)$/, 'Z'))])) }
}

const MS_PER_SECOND = 1_000

export async function oneApiRows({ dialect, query, quote }: Source, system: 'one-api' | 'new-api'): Promise<SourceRows<OneApiRows>> {
  const [deleted, isKept] = system === 'new-api' ? [', deleted_at', ' AND deleted_at IS NULL'] : ['', '']
  const tokens = await query('SELECT * FROM tokens ORDER BY id')
  const users = await query(`SELECT id, username, quota, status, ${quote('group')}${deleted} FROM users ORDER BY id`)
  const options = await query(
    `SELECT ${quote('key')}, ${quote('value')} FROM options WHERE ${quote('key')} IN ('QuotaPerUnit', 'GroupRatio') ORDER BY 1`,
  )
  const redemptions = await query(hasRedemptions(dialect))
  const codes = redemptions.length === 0 ? [] : await query(`SELECT count(*) AS count FROM redemptions WHERE status = 1${isKept}`)
  return { rows: { tokens, users, options, redemptions: codes }, lastUsedAt: newestOf(tokens, 'accessed_time') * MS_PER_SECOND }
}

/** A row, where that gateway has a table of codes. */
const hasRedemptions = (dialect: Source['dialect']): string =>
  dialect === 'sqlite'
    ? "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'redemptions'"
    : `SELECT 1 FROM information_schema.tables WHERE table_name = 'redemptions' AND table_schema = ${dialect === 'mysql' ? 'DATABASE()' : 'current_schema()'}`

const newestOf = (rows: readonly Row[], column: string): number =>
  rows.reduce((newest, row) => Math.max(newest, Number(row[column] ?? 0)), 0)
