/** Migrations beyond this program's own, as later programs will bring them: a table, its rows out of those that are there, an index. The same text on both stores. */

import type { Migration } from '../../src/core/migration.ts'

export function andThreeSteps(own: readonly Migration[]): readonly Migration[] {
  const last = own.at(-1)?.version ?? 0
  return [
    ...own,
    {
      version: last + 1,
      sql: 'CREATE TABLE costs (account_number BIGINT NOT NULL, request_id TEXT NOT NULL, cost_picos BIGINT NOT NULL);',
    },
    { version: last + 2, sql: 'INSERT INTO costs SELECT account_number, request_id, cost_picos FROM receipts;' },
    { version: last + 3, sql: 'CREATE UNIQUE INDEX costs_request ON costs (request_id);' },
  ]
}
