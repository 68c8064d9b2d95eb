/** The audit log over the operator's API. Rules: operator-api.md "Scopes", "Lists"; operator.md "Audit". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { auditDocument } from '../api/console-documents.ts'
import type { ApiCaller } from './caller.ts'
import { answer, ERRORS, Failure, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import { seenKey } from './reach.ts'
import { AT, listDocument, listOf, numberedPagingOf, PAGING, RANGE, sent, spanOf } from './shapes.ts'

const TEXT = t.Optional(t.String({ maxLength: 300 }))
const QUERY = sent({
  ...PAGING,
  ...RANGE,
  target: t.Optional(
    t.String({ maxLength: 300, description: 'The id of what was changed; a bound token must name an account or key of its own' }),
  ),
  actor: TEXT,
  action: TEXT,
})
const FACTS = t.Record(t.String(), t.Unknown())
const LINE = t.Object(
  {
    id: Type.Integer(),
    at: AT('when it was done'),
    actor: t.String({
      description: 'Such as `os:alice`, `person:ann@example.com`, `token:shop`; `signal`: a SIGHUP, of which no sender is known',
    }),
    address: t.String(),
    action: t.String(),
    target: t.String(),
    reason: t.String(),
    before: FACTS,
    after: FACTS,
  },
  { title: 'AuditLine', description: 'An act that changed something' },
)

export function auditRoutes({ acts: { ask }, macro }: Parts) {
  /** Undefined: the token may see these lines. */
  const unseen = async (caller: ApiCaller, target: string | undefined): Promise<Failure | undefined> => {
    const { accountIds } = caller.token
    if (accountIds.length === 0 || (target !== undefined && accountIds.includes(target))) return undefined
    if (target === undefined) return wrong('target', 'Name an account or key to which this token is bound')
    const key = target.startsWith('key_') ? await seenKey(ask, caller, target) : missing()
    return key instanceof Failure ? key : undefined
  }
  const list = async (caller: ApiCaller, { target, actor, action, from, to, ...paged }: Static<typeof QUERY>) => {
    const [paging, span] = [numberedPagingOf(paged), spanOf({ from, to })]
    if (paging instanceof Failure) return paging
    if (span instanceof Failure) return span
    const refused = await unseen(caller, target)
    if (refused !== undefined) return refused
    const filters = {
      ...(target === undefined ? {} : { target }),
      ...(actor === undefined ? {} : { actor }),
      ...(action === undefined ? {} : { action }),
    }
    const page = await ask<'audit'>(caller, { kind: 'audit', ...paging, ...span, ...filters })
    return page instanceof Failure ? page : listDocument(page, auditDocument)
  }
  return new Elysia({ name: 'operator api audit' })
    .use(macro)
    .get('/audit', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'account' },
      query: QUERY,
      response: { 200: listOf(LINE, 'AuditList'), ...ERRORS },
      detail: {
        operationId: 'listAudit',
        tags: ['Books'],
        summary: 'List acts',
        description: 'Who did what, from where and why, before and after; newest first.',
      },
    })
}
