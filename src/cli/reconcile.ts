/**
 * `tollgate reconcile FILE…`: the vendor's usage report against our receipts and attempts, down to the calls of a bucket that drifts. Rules: operator.md
 * "Reconciliation".
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Picos, picos, usdFields, ZERO } from '../core/money.ts'
import { type Comparison, compareBooks } from '../core/reconcile.ts'
import type { Usage } from '../core/usage.ts'
import { isoOrNull } from '../core/utc.ts'
import { tokenFields } from '../ledger/columns/call-fields.ts'
import { type Attribution, type BooksCall, type BooksRow, CAUSES, type Cause } from '../ledger/reading/upstream-books.ts'
import { readUsageReport, type UsageReport } from '../ledger/reading/usage-report.ts'
import { wholeNumber } from './arguments.ts'
import { type CommandContext, type Run, withJson } from './command-context.ts'
import { EXIT, type ExitCode, isStop, type Stop, wrongUse } from './environment.ts'
import { readReport } from './read-report.ts'
import { tableText, timeText, usdText } from './text.ts'

type Options = { upstream?: string[]; apiKey?: string[]; by: Attribution; tolerance: number; calls: number }

/** The calls of at most this many buckets are shown; a run with a narrower report shows the calls of others. */
const BUCKETS_SHOWN_MAX = 20
const MILLIONTHS_OF_PERCENT = 10_000

export function addReconcile(program: Command, run: Run): void {
  const reconcile = withJson(program.command('reconcile'))
    .description("hold the vendor's usage report against receipts and attempts; 1 when they drift apart")
    .argument('<FILES...>', 'pages of the report, as its API gave them, in JSON')
    .option('--upstream <NAMES...>', 'only calls of these upstreams of the configuration')
    .option('--api-key <IDS...>', "only what these keys of the vendor's report used")
    .addOption(new Option('--by <WHEN>', 'the bucket of a call is that of').choices(['start', 'settle']).default('start'))
    .option('--tolerance <PERCENT>', 'by how much a figure may differ', readPercent, 0)
    .option('--calls <N>', 'how many calls of a bucket that drifts are shown', wholeNumber(0, 100_000), 20)
  reconcile.action((files: string[], options: Options) => run(reconcile, (context) => reconcileFiles(context, files, options)))
}

function readPercent(text: string): number {
  if (!/^\d{1,3}(\.\d{1,4})?$/.test(text) || Number(text) > 100) throw new InvalidArgumentError('Expected a percentage, such as 0.5.')
  return Math.round(Number(text) * MILLIONTHS_OF_PERCENT)
}

type Found = Readonly<{ report: UsageReport; comparisons: readonly Comparison[]; rows: readonly BooksRow[]; calls: readonly BooksCall[] }>

function reconcileFiles(context: CommandContext, files: readonly string[], options: Options): ExitCode | Stop {
  const report = readReportFiles(context, files, options.apiKey)
  if (isStop(report)) return report
  const found = readReport(context, (ledger): Found => {
    const [from, to] = [report.buckets[0]?.from ?? 0, report.buckets.at(-1)?.to ?? 0]
    const query = { from, to, widthMs: report.widthMs, by: options.by, upstreams: options.upstream }
    const placeOf = (time: number): number => (time - from) / report.widthMs
    const covered = new Set(report.buckets.map((bucket) => placeOf(bucket.from)))
    const rows = ledger.upstreamBooks(query).filter(({ bucket }) => covered.has(bucket))
    const theirs = report.buckets.flatMap((bucket) => bucket.uses.map((use) => ({ ...use, bucket: placeOf(bucket.from) })))
    const comparisons = compareBooks(theirs, rows, options.tolerance)
    const above = comparisons.filter(({ isAboveTolerance }) => isAboveTolerance)
    const drifting = [...new Set(above.map(({ bucket }) => bucket))].slice(0, BUCKETS_SHOWN_MAX)
    return { report, comparisons, rows, calls: options.calls === 0 ? [] : ledger.upstreamCalls(query, drifting, options.calls) }
  })
  if (isStop(found)) return found
  const isClean = !found.comparisons.some(({ isAboveTolerance }) => isAboveTolerance)
  context.say(documentOf(found, isClean), () => textOf(found, isClean))
  return isClean ? EXIT.ok : EXIT.finding
}

function readReportFiles(context: CommandContext, files: readonly string[], apiKeyIds: readonly string[] | undefined): UsageReport | Stop {
  const documents: unknown[] = []
  for (const file of files) {
    try {
      documents.push(JSON.parse(readFileSync(resolve(context.environment.folder, file), 'utf8')))
    } catch (error) {
      return wrongUse(`${file} cannot be read as JSON (${error instanceof Error ? error.message : String(error)})`)
    }
  }
  const report = readUsageReport(documents, apiKeyIds)
  return 'problem' in report ? wrongUse(`the report cannot be used: ${report.problem}`) : report
}

const startOf = ({ report }: Found, bucket: number): number => (report.buckets[0]?.from ?? 0) + bucket * report.widthMs

type Sums = { calls: number; inexact: number; crossing: number; pricePicos: Picos; costed: number; costPicos: Picos }

const NO_CALLS: Sums = { calls: 0, inexact: 0, crossing: 0, pricePicos: ZERO, costed: 0, costPicos: ZERO }

/** Our sums of a bucket, by cause. */
function causesOf({ comparisons, rows }: Found, of: Comparison): ReadonlyMap<Cause, Sums> {
  const names = new Set(comparisons.filter(({ bucket }) => bucket === of.bucket).map(({ model }) => model))
  const isOf = ({ bucket, model }: BooksRow): boolean =>
    bucket === of.bucket && (of.model === null || model === of.model || (!names.has(model) && of.model.startsWith(`${model}-`)))
  const sums = new Map<Cause, Sums>(CAUSES.map((cause) => [cause, { ...NO_CALLS }]))
  for (const row of rows.filter(isOf)) {
    const sum = sums.get(row.cause)
    if (sum === undefined) continue
    sum.calls += row.calls
    sum.inexact += row.inexact
    sum.crossing += row.crossing
    sum.pricePicos = picos(sum.pricePicos + row.pricePicos)
    sum.costed += row.costed
    sum.costPicos = picos(sum.costPicos + row.costPicos)
  }
  return sums
}

const documentOf = (found: Found, isClean: boolean) => ({
  ok: isClean,
  is_complete: !found.report.isCut,
  data: found.comparisons.map((one) => ({
    starting_at: isoOrNull(startOf(found, one.bucket)),
    ending_at: isoOrNull(startOf(found, one.bucket) + found.report.widthMs),
    model: one.model,
    is_above_tolerance: one.isAboveTolerance,
    theirs: tokenFields(one.theirs),
    ours: tokenFields(one.ours),
    drift: tokenFields(one.drift),
    causes: Object.fromEntries(
      [...causesOf(found, one)].map(([cause, { pricePicos, costPicos, ...counts }]) => [
        cause,
        { ...counts, ...usdFields('price', pricePicos), ...usdFields('upstream_cost', costPicos) },
      ]),
    ),
  })),
  calls: found.calls.map((call) => ({
    starting_at: isoOrNull(startOf(found, call.bucket)),
    request_id: call.requestId,
    attempt: call.attempt,
    model: call.model,
    cause: call.cause,
    outcome: call.outcome,
    basis: call.basis,
    started_at: isoOrNull(call.startedAt),
    ended_at: isoOrNull(call.endedAt),
    upstream_message_id: call.upstreamMessageId,
    upstream_request_id: call.upstreamRequestId,
    ...tokenFields(call.usage),
    ...usdFields('price', call.pricePicos),
    ...usdFields('upstream_cost', call.costPicos),
  })),
})

function textOf(found: Found, isClean: boolean): string {
  const cut = found.report.isCut ? ['The report has more pages than were given: has_more is true in each.'] : []
  const drifting = found.comparisons.filter(({ isAboveTolerance }) => isAboveTolerance)
  if (isClean) return [`All ${found.comparisons.length} figures by bucket and model agree with ours.`, ...cut].join('\n')
  const head = `${drifting.length} of ${found.comparisons.length} figures by bucket and model drift; theirs less ours:`
  const buckets = tableText(
    [
      'BUCKET',
      'MODEL',
      'INPUT',
      'OUTPUT',
      'CACHE READ',
      '5M WRITE',
      '1H WRITE',
      'TOOLS',
      'CHARGED',
      'WAIVED',
      'ATTEMPTS',
      'COST',
      'INEXACT',
      'CROSSING',
    ],
    drifting.map((one) => [
      timeText(startOf(found, one.bucket)),
      one.model ?? 'all',
      ...driftCells(one.drift),
      ...causeCells(causesOf(found, one)),
    ]),
    '',
  )
  const calls = tableText(
    ['BUCKET', 'REQUEST', 'NO', 'MODEL', 'CAUSE', 'OUTCOME', 'BASIS', 'STARTED', 'ENDED', 'INPUT', 'OUTPUT', 'PRICE', 'UPSTREAM ID'],
    found.calls.map((call) => [
      timeText(startOf(found, call.bucket)),
      call.requestId,
      call.attempt === null ? 'receipt' : String(call.attempt),
      call.model,
      call.cause,
      call.outcome,
      call.basis,
      timeText(call.startedAt),
      timeText(call.endedAt),
      String(call.usage.input),
      String(call.usage.output),
      usdText(call.pricePicos),
      call.upstreamMessageId ?? '',
    ]),
    'We have no call in these buckets.',
  )
  return [head, '', buckets, '', 'Our calls there, the likeliest causes first:', '', calls, ...cut].join('\n')
}

const driftCells = (drift: Usage): readonly string[] =>
  [drift.input, drift.output, drift.cacheRead, drift.cacheWrite5m, drift.cacheWrite1h, drift.serverToolUses].map((count) =>
    count > 0 ? `+${count}` : String(count),
  )

function causeCells(causes: ReadonlyMap<Cause, Sums>): readonly string[] {
  const all = [...causes.values()]
  const sum = (of: 'inexact' | 'crossing'): string => String(all.reduce((total, one) => total + one[of], 0))
  return [
    ...CAUSES.map((cause) => causes.get(cause)).map((one) => `${one?.calls ?? 0} ${usdText(one?.pricePicos ?? ZERO)}`),
    costText(all),
    sum('inexact'),
    sum('crossing'),
  ]
}

/** What the calls cost us; of calls whose cost is not known there is no sum. */
function costText(all: readonly Sums[]): string {
  const [calls, costed] = [all.reduce((sum, one) => sum + one.calls, 0), all.reduce((sum, one) => sum + one.costed, 0)]
  if (costed === 0) return 'not known'
  const cost = usdText(picos(all.reduce((sum, one) => sum + one.costPicos, 0n)))
  return costed === calls ? cost : `${cost} of ${costed}`
}
