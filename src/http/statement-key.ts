/** The public half of the key that signs statements, for checking a customer's file. Rules: ledger.md "Statements"; keys.md "Order of checks". */

import { Elysia, t } from 'elysia'
import { refusalOfUnread } from '../relay/key-balance.ts'
import type { World } from '../world.ts'
import { answerSmall } from './answers.ts'
import { KEY_HEADERS, type keyMacro } from './key.ts'

const STATEMENT_KEY = t.Object(
  {
    object: t.Literal('statement_key'),
    algorithm: t.Literal('ed25519'),
    public_key: t.String({ description: 'SPKI in DER, base64: as in the first line of every statement' }),
  },
  { title: 'StatementKey', description: 'The public key that verifies signed statements' },
)

export function statementKeyRoutes(world: World, macro: ReturnType<typeof keyMacro>) {
  return new Elysia({ name: 'statement-key' }).use(macro).get(
    '/v1/dashboard/statement-key',
    ({ asker }) =>
      answerSmall(asker, async (key) => {
        const found = await world.reports.ask(key.id, { kind: 'statementKey' })
        if (typeof found === 'string') return refusalOfUnread(found)
        return { object: 'statement_key', algorithm: 'ed25519', public_key: found.publicKey }
      }),
    {
      key: 'dashboard',
      headers: KEY_HEADERS.bearer,
      response: { 200: STATEMENT_KEY },
      detail: {
        operationId: 'getStatementKey',
        tags: ['Usage'],
        summary: 'Get the statements’ key',
        description: 'The public key that this gateway’s signed statements name. It stays the same for as long as the ledger is kept.',
      },
    },
  )
}
