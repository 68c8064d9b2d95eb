/** A database of LiteLLM for tests, with the tables that its own migrations make, and rows for them. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SQL } from 'bun'
import { postgres } from '../../support/postgres.ts'

type Values = Readonly<Record<string, unknown>>

export type LiteLlm = Readonly<{
  url: string
  insert(table: string, ...rows: readonly Values[]): Promise<void>
  ask<Row>(text: string): Promise<readonly Row[]>
  close(): Promise<void>
}>

/** As it stores a key: the SHA-256 of all of it in hex, but a key without `sk-` as it is. */
export const tokenOf = (secret: string): string => (secret.startsWith('sk-') ? createHash('sha256').update(secret).digest('hex') : secret)

/** `tables`: the statements that make them; default: those that were recorded. */
export async function makeLiteLlm(
  tables: readonly string[] = [readFileSync(new URL('litellm-tables.sql', import.meta.url), 'utf8')],
): Promise<LiteLlm> {
  const url = await postgres().createDatabase()
  const sql = new SQL(url, { max: 1 })
  for (const text of tables) await sql.unsafe(text)
  return {
    url,
    async insert(table, ...rows) {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].map((name) => `"${name}"`).join(', ')
      const given = `json_populate_recordset(NULL::"${table}", CAST(CAST($1 AS TEXT) AS JSON))`
      await sql.unsafe(`INSERT INTO "${table}" (${columns}) SELECT ${columns} FROM ${given}`, [JSON.stringify(rows)])
    },
    ask: async <Row>(text: string) => [...(await sql.unsafe<Row[]>(text))],
    close: () => sql.close(),
  }
}

/** A key as LiteLLM writes its row. */
export const keyRow = (secret: string, more: Values = {}): Values => ({
  token: tokenOf(secret),
  key_name: `sk-...${secret.slice(-4)}`,
  spend: 0,
  models: [],
  aliases: {},
  ...more,
})
