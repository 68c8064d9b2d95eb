/** `tollgate codes …`: makes batches of prepaid codes, shows which are redeemed, takes batches back, redeems a code. A code is printed once. Rules: pages.md "Codes". */

import type { Command } from 'commander'
import { CODE_EXPIRY_DAYS_MAX, CODES_MAX } from '../core/limits.ts'
import { type Picos, usdFields, ZERO } from '../core/money.ts'
import { readCode } from '../core/prepaid-code.ts'
import { DAY_MS, isoOrNull } from '../core/utc.ts'
import { newCodes } from '../ledger/operations/new-codes.ts'
import { newId } from '../ledger/operations/new-id.ts'
import { hashOf } from '../ledger/operations/secret-hash.ts'
import { type BatchRow, type CodeRow, stateOfBatch } from '../ledger/reading/code-lists.ts'
import { readAmount, readName, wholeNumber } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { operate, type Why, withReason } from './operate.ts'
import { type PagingOptions, sayPage, withPaging } from './paging.ts'
import { accountNamed, readReport } from './read-report.ts'
import { factsText, tableText, timeText, usdText } from './text.ts'

type CreateOptions = Why & { count: number; amount: Picos; batch?: string; expiresInDays?: number }
type RedeemOptions = Why & { account: string }
type ListOptions = PagingOptions & { batch?: string }

export function addCodes(program: Command, run: Run): void {
  const codes = program.command('codes').description('make, show and take back prepaid codes')
  const create = withReason(withJson(codes.command('create')))
    .description('make a batch of codes; they are shown once')
    .requiredOption('--count <N>', `how many, 1 to ${CODES_MAX}`, wholeNumber(1, CODES_MAX))
    .requiredOption('--amount <USD>', 'what each is worth', readAmount)
    .option('--batch <NAME>', 'a name that no other batch has', readName)
    .option(
      '--expires-in-days <N>',
      `until when they can be redeemed, 1 to ${CODE_EXPIRY_DAYS_MAX}; default: for ever`,
      wholeNumber(1, CODE_EXPIRY_DAYS_MAX),
    )
  create.action((options: CreateOptions) => run(create, (context) => createCodes(context, options)))

  const list = withPaging(codes.command('list'), /^\d{1,15}$/)
    .description('batches, newest first; with --batch its codes')
    .option('--batch <BATCH>', 'id or name of a batch: each code, and who redeemed it')
  list.action((options: ListOptions) =>
    run(list, (context) => (options.batch === undefined ? listBatches(context, options) : listCodes(context, options.batch))),
  )

  const disable = withReason(withJson(codes.command('disable')))
    .description('take back what of a batch is not redeemed yet')
    .argument('<BATCH>', 'id or name of a batch')
  disable.action((batch: string, why: Why) => run(disable, (context) => disableBatch(context, batch, why)))

  const redeem = withReason(withJson(codes.command('redeem')))
    .description('credit a code to an account, as its owner would in the cabinet')
    .argument('<CODE>', 'as it is written or spelled: case, hyphens and look-alikes do not matter')
    .requiredOption('--account <ACCOUNT>', 'id or name of the account')
  redeem.action((code: string, options: RedeemOptions) => run(redeem, (context) => redeemCode(context, code, options)))
}

async function createCodes(
  context: CommandContext,
  { count, amount, batch, expiresInDays, ...why }: CreateOptions,
): Promise<ExitCode | Stop> {
  const now = context.environment.now()
  const batchId = newId('batch', now)
  const { shown, codes } = newCodes(count)
  const expiresAt = expiresInDays === undefined ? null : now + expiresInDays * DAY_MS
  const done = await operate(
    context,
    { kind: 'createCodes', batchId, name: batch ?? '', amountPicos: amount, expiresAt, codes, now },
    { ...why, create: true },
  )
  if (isStop(done)) return done
  const document = { id: batchId, name: batch ?? '', ...usdFields('amount', amount), expires_at: isoOrNull(expiresAt), codes: shown }
  const facts = [
    ['batch', batch === undefined ? batchId : `${batch} (${batchId})`],
    ['amount', usdText(amount)],
    ['expires', timeText(expiresAt)],
  ] as const
  context.say(document, () => `${factsText(facts)}\n\n${shown.join('\n')}\n\nThe codes are shown this once; only their hashes are kept.`)
  return EXIT.ok
}

function listBatches(context: CommandContext, { limit, cursor }: PagingOptions): ExitCode | Stop {
  const page = readReport(context, ({ codes }) => codes.batches({ after: cursor, limit }))
  if (isStop(page)) return page
  const now = context.environment.now()
  return sayPage(
    context,
    page,
    (row) => batchDocument(row, now),
    (rows) => batchTable(rows, now),
  )
}

function listCodes(context: CommandContext, name: string): ExitCode | Stop {
  const batch = batchNamed(context, name)
  if (isStop(batch)) return batch
  const codes = readReport(context, (report) => report.codes.codes(batch.id))
  if (isStop(codes)) return codes
  const now = context.environment.now()
  context.say({ ...batchDocument(batch, now), data: codes.map(codeDocument) }, () => `${batchTable([batch], now)}\n\n${codeTable(codes)}`)
  return EXIT.ok
}

async function disableBatch(context: CommandContext, name: string, why: Why): Promise<ExitCode | Stop> {
  const batch = batchNamed(context, name)
  if (isStop(batch)) return batch
  const now = context.environment.now()
  const done = await operate(context, { kind: 'disableCodes', batchId: batch.id, now }, { ...why, create: false })
  if (isStop(done)) return done
  const after = batchNamed(context, batch.id)
  if (isStop(after)) return after
  context.say(batchDocument(after, now), () => batchTable([after], now))
  return EXIT.ok
}

async function redeemCode(context: CommandContext, typed: string, { account: named, ...why }: RedeemOptions): Promise<ExitCode | Stop> {
  const code = readCode(typed)
  if (code === undefined) return wrongUse('this is no code: compare each character')
  const account = accountNamed(context, named)
  if (isStop(account)) return account
  const now = context.environment.now()
  const creditId = newId('crd', now)
  const done = await operate(
    context,
    { kind: 'redeemCode', codeHash: hashOf(code), accountId: account.id, creditId, now },
    { ...why, create: false },
  )
  if (isStop(done)) return done
  const { earlier, redeemedPicos = ZERO } = done
  const document = {
    account_id: account.id,
    credit_id: earlier?.creditId ?? creditId,
    ...usdFields('amount', redeemedPicos),
    already: earlier !== undefined,
  }
  const whose = account.name === '' ? account.id : `${account.name} (${account.id})`
  context.say(document, () =>
    earlier === undefined
      ? `${usdText(redeemedPicos)} is credited to ${whose}.`
      : `Nothing was done: ${whose} had redeemed it already, for ${usdText(redeemedPicos)}.`,
  )
  return EXIT.ok
}

function batchNamed(context: CommandContext, name: string): BatchRow | Stop {
  const batch = readReport(context, ({ codes }) => codes.batch(name) ?? 'none')
  return batch === 'none' ? wrongUse(`there is no batch of codes "${name}"`) : batch
}

const batchDocument = (batch: BatchRow, now: number) => ({
  id: batch.id,
  name: batch.name,
  ...usdFields('amount', batch.amountPicos),
  count: batch.count,
  redeemed: batch.redeemed,
  state: stateOfBatch(batch, now),
  created_at: isoOrNull(batch.createdAt),
  expires_at: isoOrNull(batch.expiresAt),
  disabled_at: isoOrNull(batch.disabledAt),
})

const batchTable = (batches: readonly BatchRow[], now: number): string =>
  tableText(
    ['ID', 'NAME', 'AMOUNT', 'CODES', 'REDEEMED', 'STATE', 'CREATED', 'EXPIRES'],
    batches.map((batch) => [
      batch.id,
      batch.name,
      usdText(batch.amountPicos),
      String(batch.count),
      String(batch.redeemed),
      stateOfBatch(batch, now),
      timeText(batch.createdAt),
      timeText(batch.expiresAt),
    ]),
    'There are no codes yet: `tollgate codes create --count 10 --amount 25` makes some.',
  )

const codeDocument = ({ place, display, accountId, creditId, redeemedAt }: CodeRow) => ({
  place,
  code: display,
  account_id: accountId,
  credit_id: creditId,
  redeemed_at: isoOrNull(redeemedAt),
})

const codeTable = (codes: readonly CodeRow[]): string =>
  tableText(
    ['PLACE', 'CODE', 'ACCOUNT', 'CREDIT', 'REDEEMED'],
    codes.map(({ place, display, accountId, accountName, creditId, redeemedAt }) => [
      String(place),
      display,
      accountName || (accountId ?? ''),
      creditId ?? '',
      timeText(redeemedAt),
    ]),
    'The batch has no codes.',
  )
