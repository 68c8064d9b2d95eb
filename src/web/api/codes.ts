/** Prepaid codes as operators see them: batches, their codes, making and taking back. Rules: pages.md "Codes". */

import { Elysia, t } from 'elysia'
import { CODES_MAX } from '../../core/limits.ts'
import { parseUsd, toExactUsdText, ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import { DAY_MS, isoTime } from '../../core/utc.ts'
import type { BatchRow, CodeRow } from '../../ledger/code-lists.ts'
import { newCodes } from '../../ledger/new-codes.ts'
import type { OperationResult } from '../../ledger/operation.ts'
import type { Site } from '../site.ts'
import { missing, refuse } from './answers.ts'
import { type Caller, callerMacro } from './caller.ts'
import { ACT_ID, type ConsoleActs } from './console-acts.ts'
import { refuseUnread } from './unread.ts'

const EXPIRY_DAYS_MAX = 3_650

const REASON = t.String({ maxLength: 200, default: '', description: 'A reason has at most 200 characters' })
const WHY = t.Object({ reason: t.Optional(REASON) })
const NEW_BATCH = t.Object({
  id: ACT_ID,
  count: t.Integer({ minimum: 1, maximum: CODES_MAX, description: `1 to ${CODES_MAX} codes` }),
  amount_usd: t.String({ maxLength: 20, description: 'An amount in dollars, such as 25' }),
  name: t.Optional(t.String({ maxLength: 128, description: 'A name has at most 128 characters' })),
  expires_in_days: t.Optional(
    t.Union([t.Integer({ minimum: 1, maximum: EXPIRY_DAYS_MAX }), t.Null()], { description: `1 to ${EXPIRY_DAYS_MAX} days, or none` }),
  ),
  reason: t.Optional(REASON),
})
const PAGE = t.Object({
  after: t.Optional(t.String({ pattern: '^\\d{1,15}$' })),
  limit: t.Integer({ minimum: 1, maximum: 200, default: 50, description: '1 to 200 rows' }),
})

export const codeRoutes = ({ world, people }: Site, { once, oldForm }: ConsoleActs) => {
  const { ledger, reports, clock } = world
  const actOf = ({ actor, address }: Caller, reason = '') => ({ actor, address, reason: reason.trim() })
  const batchOf = ({ person }: Caller, batch: string) => reports.ask(`person:${person.id}`, { kind: 'codeBatch', batch })
  return new Elysia({ name: 'codes', prefix: '/console/api/codes' })
    .use(callerMacro(people, 'console'))
    .onBeforeHandle(({ set }) => {
      set.headers['cache-control'] = 'no-store'
    })
    .get(
      '',
      async ({ caller, query: { after, limit } }) => {
        const question = { kind: 'codeBatches', limit, ...(after === undefined ? {} : { after }) } as const
        const page = await reports.ask(`person:${caller.person.id}`, question)
        if (typeof page === 'string') return refuseUnread(page)
        return { data: page.rows.map((row) => batchDocument(row, clock.now())), has_more: page.next !== null, next_cursor: page.next }
      },
      { person: true, query: PAGE },
    )
    .post(
      '',
      ({ caller, body }) =>
        once(caller, 'codes', body.id, async () => {
          const amountPicos = parseUsd(body.amount_usd)
          if (amountPicos === undefined || amountPicos <= ZERO) return refuse(400, 'More than $0, such as 25', { field: 'amount_usd' })
          const old = oldForm(body.id)
          if (old !== undefined) return old
          const now = clock.now()
          const batchId = `batch_${body.id}`
          const name = (body.name ?? '').trim()
          const problem = name === '' ? undefined : problemOfName(name)
          if (problem !== undefined) return refuse(400, problem, { field: 'name' })
          const expiresAt = typeof body.expires_in_days === 'number' ? now + body.expires_in_days * DAY_MS : null
          const { shown, codes } = newCodes(body.count)
          const made = await ledger.operate(
            { kind: 'createCodes', batchId, name, amountPicos, expiresAt, codes, now },
            actOf(caller, body.reason),
          )
          return (
            refusalOf(made) ?? {
              id: batchId,
              name,
              amount_usd: toExactUsdText(amountPicos),
              expires_at: expiresAt === null ? null : isoTime(expiresAt),
              codes: shown,
            }
          )
        }),
      { person: true, body: NEW_BATCH },
    )
    .get(
      '/:batch',
      async ({ caller, params }) => {
        const found = await batchOf(caller, params.batch)
        if (found === undefined) return missing()
        if (typeof found === 'string') return refuseUnread(found)
        return { ...batchDocument(found.batch, clock.now()), data: found.codes.map(codeDocument) }
      },
      { person: true },
    )
    .post(
      '/:batch/disable',
      async ({ caller, params, body }) => {
        const found = await batchOf(caller, params.batch)
        if (found === undefined) return missing()
        if (typeof found === 'string') return refuseUnread(found)
        const now = clock.now()
        const { id: batchId, disabledAt } = found.batch
        const done = await ledger.operate({ kind: 'disableCodes', batchId, now }, actOf(caller, body.reason))
        return refusalOf(done) ?? batchDocument({ ...found.batch, disabledAt: disabledAt ?? now }, now)
      },
      { person: true, body: WHY },
    )
}

function refusalOf(answer: OperationResult): Response | undefined {
  switch (answer.result) {
    case 'done':
      return undefined
    case 'refused':
      return refuse(409, `Not done: ${answer.problem}`)
    case 'unavailable':
      return refuse(503, 'The ledger did not confirm it. Look whether it was done before you repeat it')
  }
}

const batchDocument = ({ id, name, amountPicos, count, redeemed, createdAt, expiresAt, disabledAt }: BatchRow, now: number) => ({
  id,
  name,
  amount_usd: toExactUsdText(amountPicos),
  count,
  redeemed,
  state: disabledAt !== null ? ('disabled' as const) : expiresAt !== null && expiresAt <= now ? ('expired' as const) : ('live' as const),
  created_at: isoTime(createdAt),
  expires_at: expiresAt === null ? null : isoTime(expiresAt),
  disabled_at: disabledAt === null ? null : isoTime(disabledAt),
})

const codeDocument = ({ place, display, accountId, accountName, creditId, redeemedAt }: CodeRow) => ({
  place,
  code: display,
  account_id: accountId,
  account_name: accountName,
  credit_id: creditId,
  redeemed_at: redeemedAt === null ? null : isoTime(redeemedAt),
})
