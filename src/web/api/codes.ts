/** Prepaid codes as operators see them: batches and their codes are listed, made and taken back. Rules: pages.md "Codes", "Acts of operators". */

import { Elysia, type Static, t } from 'elysia'
import { CODE_EXPIRY_DAYS_MAX, CODES_MAX } from '../../core/limits.ts'
import { toExactUsdText } from '../../core/money.ts'
import { DAY_MS, isoOrNull, isoTime } from '../../core/utc.ts'
import { newCodes } from '../../ledger/operations/new-codes.ts'
import { type BatchRow, type CodeRow, stateOfBatch } from '../../ledger/reading/code-lists.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, amountOf, type ConsoleActs, NO_STORE, REASON, USD } from './console-acts.ts'
import { wrongName } from './name-field.ts'

const WHY = t.Object({ reason: REASON })
const NEW_BATCH = t.Object({
  id: ACT_ID,
  count: t.Integer({ minimum: 1, maximum: CODES_MAX, description: `1 to ${CODES_MAX} codes` }),
  amount_usd: USD,
  name: t.Optional(t.String({ maxLength: 128, description: 'A name has at most 128 characters' })),
  expires_in_days: t.Optional(
    t.Union([t.Integer({ minimum: 1, maximum: CODE_EXPIRY_DAYS_MAX }), t.Null()], {
      description: `1 to ${CODE_EXPIRY_DAYS_MAX} days, or none`,
    }),
  ),
  reason: REASON,
})
type NewBatch = Static<typeof NEW_BATCH>
const PAGE = t.Object({
  after: t.Optional(t.String({ pattern: '^\\d{1,15}$' })),
  limit: t.Integer({ minimum: 1, maximum: 200, default: 50, description: '1 to 200 rows' }),
})

export const codeRoutes = ({ world, people }: Site, { ask, perform, once, oldForm }: ConsoleActs) => {
  const { clock } = world
  const batchOf = async (caller: Caller, batch: string) => (await ask<'codeBatch'>(caller, { kind: 'codeBatch', batch })) ?? missing()
  const create = async (caller: Caller, { id, count, amount_usd, name: given = '', expires_in_days, reason }: NewBatch) => {
    const name = given.trim()
    const amountPicos = amountOf(amount_usd, 'amount_usd')
    if (amountPicos instanceof Response) return amountPicos
    const wrong = (name === '' ? undefined : wrongName(name)) ?? oldForm(id)
    if (wrong !== undefined) return wrong
    const now = clock.now()
    const batchId = `batch_${id}`
    const expiresAt = typeof expires_in_days === 'number' ? now + expires_in_days * DAY_MS : null
    const { shown, codes } = newCodes(count)
    const made = await perform({ kind: 'createCodes', batchId, name, amountPicos, expiresAt, codes, now }, caller, reason)
    if (made instanceof Response) return made
    return { id: batchId, name, amount_usd: toExactUsdText(amountPicos), expires_at: isoOrNull(expiresAt), codes: shown }
  }
  const disable = async (caller: Caller, batch: string, reason: string | undefined) => {
    const found = await batchOf(caller, batch)
    if (found instanceof Response) return found
    const now = clock.now()
    const { id: batchId, disabledAt } = found.batch
    const done = await perform({ kind: 'disableCodes', batchId, now }, caller, reason)
    return done instanceof Response ? done : batchDocument({ ...found.batch, disabledAt: disabledAt ?? now }, now)
  }
  return (
    new Elysia({ name: 'codes', prefix: '/console/api/codes' })
      .use(callerMacro(people, 'console'))
      .onBeforeHandle(({ set }) => {
        Object.assign(set.headers, NO_STORE)
      })
      .get(
        '',
        async ({ caller, query: { after, limit } }) => {
          const page = await ask<'codeBatches'>(caller, { kind: 'codeBatches', limit, ...(after === undefined ? {} : { after }) })
          if (page instanceof Response) return page
          return { data: page.rows.map((row) => batchDocument(row, clock.now())), has_more: page.next !== null, next_cursor: page.next }
        },
        { person: true, query: PAGE },
      )
      // Only this answer has the codes, so a form that is sent twice gets the same answer again, from memory.
      .post('', ({ caller, body }) => once(caller, 'codes', body.id, () => create(caller, body)), { person: true, body: NEW_BATCH })
      .get(
        '/:batch',
        async ({ caller, params }) => {
          const found = await batchOf(caller, params.batch)
          return found instanceof Response ? found : { ...batchDocument(found.batch, clock.now()), data: found.codes.map(codeDocument) }
        },
        { person: true },
      )
      .post('/:batch/disable', ({ caller, params, body }) => disable(caller, params.batch, body.reason), { person: true, body: WHY })
  )
}

export const batchDocument = (batch: BatchRow, now: number) => ({
  id: batch.id,
  name: batch.name,
  amount_usd: toExactUsdText(batch.amountPicos),
  count: batch.count,
  redeemed: batch.redeemed,
  state: stateOfBatch(batch, now),
  created_at: isoTime(batch.createdAt),
  expires_at: isoOrNull(batch.expiresAt),
  disabled_at: isoOrNull(batch.disabledAt),
})

export const codeDocument = ({ place, display, accountId, accountName, creditId, redeemedAt }: CodeRow) => ({
  place,
  code: display,
  account_id: accountId,
  account_name: accountName,
  credit_id: creditId,
  redeemed_at: isoOrNull(redeemedAt),
})
