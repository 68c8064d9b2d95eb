/** Prepaid codes over the operator's API: batches are listed, made, taken back, and a code redeemed. Rules: operator-api.md "Writes"; pages.md "Codes". */

import { Type } from '@sinclair/typebox'
import { Elysia, type Static, t } from 'elysia'
import { CODE_EXPIRY_DAYS_MAX, CODES_MAX } from '../../core/limits.ts'
import { toExactUsdText, ZERO } from '../../core/money.ts'
import { problemOfName } from '../../core/names.ts'
import { readCode } from '../../core/prepaid-code.ts'
import { DAY_MS } from '../../core/utc.ts'
import { newCodes } from '../../ledger/operations/new-codes.ts'
import { newId } from '../../ledger/operations/new-id.ts'
import { hashOf } from '../../ledger/operations/secret-hash.ts'
import { batchDocument, codeDocument } from '../api/codes.ts'
import { type ApiCaller, seesAccount } from './caller.ts'
import { answer, ERRORS, Failure, missing, wrong } from './failure.ts'
import type { Parts } from './parts.ts'
import {
  AT,
  AT_OR_NULL,
  EXACT,
  ID,
  listDocument,
  listOf,
  numberedPagingOf,
  orNull,
  PAGING,
  paymentOf,
  REASON,
  sent,
  USD,
  WHY,
} from './shapes.ts'

const BATCH_FIELDS = {
  id: t.String(),
  name: t.String(),
  amount_usd: EXACT('what each code is worth'),
  count: Type.Integer(),
  redeemed: Type.Integer(),
  state: t.String({ enum: ['live', 'disabled', 'expired'] }),
  created_at: AT('when it was made'),
  expires_at: AT_OR_NULL('until when its codes are redeemed; null: for ever'),
  disabled_at: AT_OR_NULL('when it was taken back'),
}
const BATCH = t.Object(BATCH_FIELDS, { title: 'CodeBatch', description: 'Prepaid codes of one amount' })
const CODE = t.Object(
  {
    place: Type.Integer(),
    code: t.String({ description: 'Its end' }),
    account_id: orNull(t.String()),
    account_name: orNull(t.String()),
    credit_id: orNull(t.String()),
    redeemed_at: AT_OR_NULL('null: not yet'),
  },
  { title: 'Code' },
)
const BATCH_WITH_CODES = t.Object({ ...BATCH_FIELDS, data: t.Array(CODE) }, { title: 'CodeBatchDetail' })
const NEW_BATCH = t.Object(
  {
    ...BATCH_FIELDS,
    codes: orNull(t.Array(t.String()), 'Shown this once; null in the answer to a repetition'),
    codes_shown: t.Boolean({ description: 'The first answer under this Idempotency-Key had the codes' }),
  },
  { title: 'NewCodeBatch' },
)
const CREATE = sent(
  {
    count: Type.Integer({ minimum: 1, maximum: CODES_MAX, description: `1 to ${CODES_MAX} codes` }),
    amount_usd: USD,
    name: t.Optional(t.String({ maxLength: 500, description: 'A name that no other batch has' })),
    expires_in_days: t.Optional(
      orNull(Type.Integer({ minimum: 1, maximum: CODE_EXPIRY_DAYS_MAX }), `1 to ${CODE_EXPIRY_DAYS_MAX} days; null: they never expire`),
    ),
    reason: REASON,
  },
  { title: 'CodesToMake' },
)
const REDEEM = sent(
  { code: t.String({ maxLength: 200, description: 'As it is written or spelled' }), account_id: ID, reason: REASON },
  { title: 'Redemption' },
)
const REDEEMED = t.Object(
  { account_id: t.String(), credit_id: t.String(), amount_usd: EXACT('what it was worth'), already: t.Boolean() },
  { title: 'Redeemed' },
)

function codeActs({ world: { clock }, acts: { ask, askAfterWrite, perform } }: Parts) {
  const list = async (caller: ApiCaller, query: Readonly<{ limit?: number; cursor?: string }>) => {
    const paging = numberedPagingOf(query)
    const page = paging instanceof Failure ? paging : await ask<'codeBatches'>(caller, { kind: 'codeBatches', ...paging })
    return page instanceof Failure ? page : listDocument(page, (batch) => batchDocument(batch, clock.now()))
  }
  const look = async (caller: ApiCaller, batch: string, asking = ask) =>
    (await asking<'codeBatch'>(caller, { kind: 'codeBatch', batch })) ?? missing()
  const create = async (caller: ApiCaller, body: Static<typeof CREATE>): Promise<Static<typeof NEW_BATCH> | Failure> => {
    const { count, name = '', expires_in_days = null, reason } = body
    const amountPicos = paymentOf('amount_usd', body.amount_usd)
    if (amountPicos instanceof Failure) return amountPicos
    const problem = name === '' ? undefined : problemOfName(name)
    if (problem !== undefined) return wrong('name', problem)
    const now = clock.now()
    const batchId = newId('batch', now)
    const { shown, codes } = newCodes(count)
    const expiresAt = expires_in_days === null ? null : now + expires_in_days * DAY_MS
    const done = await perform(caller, { kind: 'createCodes', batchId, name, amountPicos, expiresAt, codes, now }, reason)
    if (done instanceof Failure) return done
    const isFirst = done.repeats === undefined
    const made = { number: 0, id: batchId, name, amountPicos, count, redeemed: 0, createdAt: now, expiresAt, disabledAt: null }
    const found = await look(caller, done.repeats?.target ?? batchId, askAfterWrite)
    if (found instanceof Failure && !isFirst) return found
    const batch = found instanceof Failure ? made : found.batch
    return { ...batchDocument(batch, now), codes: isFirst ? [...shown] : null, codes_shown: !isFirst }
  }
  const disable = async (caller: ApiCaller, batch: string, reason: string | undefined) => {
    const found = await look(caller, batch)
    if (found instanceof Failure) return found
    const now = clock.now()
    const done = await perform(caller, { kind: 'disableCodes', batchId: found.batch.id, now }, reason)
    return done instanceof Failure ? done : batchDocument({ ...found.batch, disabledAt: found.batch.disabledAt ?? now }, now)
  }
  const redeem = async (caller: ApiCaller, { code: typed, account_id: accountId, reason }: Static<typeof REDEEM>) => {
    const code = readCode(typed)
    if (code === undefined) return wrong('code', 'This is no code: compare each character')
    if (!seesAccount(caller, accountId)) return wrong('account_id', 'There is no such account')
    const now = clock.now()
    const creditId = newId('crd', now)
    const done = await perform(caller, { kind: 'redeemCode', codeHash: hashOf(code), accountId, creditId, now }, reason)
    if (done instanceof Failure) return done
    const amount = done.repeats === undefined ? (done.redeemedPicos ?? ZERO) : await amountOf(caller, accountId, done.repeats.target)
    if (amount instanceof Failure) return amount
    return {
      account_id: accountId,
      credit_id: done.repeats?.target ?? done.earlier?.creditId ?? creditId,
      amount_usd: toExactUsdText(amount),
      already: (done.repeats ?? done.earlier) !== undefined,
    } satisfies Static<typeof REDEEMED>
  }
  /** The amount of a credit that was booked before. */
  const amountOf = async (caller: ApiCaller, accountId: string, creditId: string) => {
    // Ids are in order, and the cursor excludes its own.
    const after = `${creditId}~`
    const page = await askAfterWrite<'credits'>(caller, { kind: 'credits', accountId, after, limit: 1 })
    if (page instanceof Failure) return page
    return page.rows.find(({ id }) => id === creditId)?.amountPicos ?? missing()
  }
  return { list, look, create, disable, redeem }
}

const detail = (operationId: string, summary: string, description: string) => ({ operationId, tags: ['Codes'], summary, description })
const MONEY = { scope: 'money', reach: 'gateway' } as const

export function codeRoutes(parts: Parts) {
  const { list, look, create, disable, redeem } = codeActs(parts)
  const { clock } = parts.world
  return new Elysia({ name: 'operator api codes', prefix: '/codes' })
    .use(parts.macro)
    .get('', async ({ caller, query }) => answer(await list(caller, query)), {
      token: { scope: 'read', reach: 'gateway' },
      query: sent(PAGING),
      response: { 200: listOf(BATCH, 'CodeBatchList'), ...ERRORS },
      detail: detail('listCodeBatches', 'List batches of codes', 'Newest first.'),
    })
    .post('', async ({ caller, body }) => answer(await create(caller, body)), {
      token: MONEY,
      body: CREATE,
      response: { 200: NEW_BATCH, ...ERRORS },
      detail: detail('createCodes', 'Make codes', 'They are shown once.'),
    })
    .post('/redeem', async ({ caller, body }) => answer(await redeem(caller, body)), {
      token: { scope: 'money', reach: 'account' },
      body: REDEEM,
      response: { 200: REDEEMED, ...ERRORS },
      detail: detail('redeemCode', 'Redeem a code', 'As the account’s owner would in the cabinet.'),
    })
    .get(
      '/:batch',
      async ({ caller, params }) => {
        const found = await look(caller, params.batch)
        if (found instanceof Failure) return answer(found)
        return answer({ ...batchDocument(found.batch, clock.now()), data: found.codes.map(codeDocument) })
      },
      {
        token: { scope: 'read', reach: 'gateway' },
        response: { 200: BATCH_WITH_CODES, ...ERRORS },
        detail: detail('getCodeBatch', 'Show a batch', 'By id or name: each code’s end, and who redeemed it.'),
      },
    )
    .post('/:batch/disable', async ({ caller, params, body: { reason } }) => answer(await disable(caller, params.batch, reason)), {
      token: MONEY,
      body: WHY,
      response: { 200: BATCH, ...ERRORS },
      detail: detail('disableCodes', 'Take a batch back', 'Its codes that are not redeemed yet can no longer be.'),
    })
}
