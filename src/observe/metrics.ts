/**
 * The metrics, in Prometheus' text format on the operator's listener. Every label has few values: routes, formats, models of the catalogue, statuses,
 * refusal names, outcomes, configured upstreams. Nothing that a client or an upstream can invent becomes a label. Rules: operator.md "Metrics".
 */

import type { FormatName } from '../core/format.ts'
import type { Picos } from '../core/money.ts'
import type { Usage } from '../core/usage.ts'
import { type Family, Histogram, reading, readings, Sums } from './families.ts'
import { processMetrics } from './process-metrics.ts'
import { Pulse, type PulseReading } from './pulse.ts'
import type { RequestLine } from './request-line.ts'

export interface Metrics {
  /** Called once for each request, with the line that the log gets. Counts the line's alarm, too. */
  requestEnded(line: RequestLine): void
  /** A streamed request has been sent to the upstream. */
  streamStarted(format: FormatName): void
  /** A streamed request has ended; called exactly once for each started stream. */
  streamEnded(format: FormatName): void
  /** An alarm that is not a request's own. `what` is a constant of the code. */
  alarm(what: string): void
  /** Figures of the ledger's thread: how long a group took to be on disk, how many tasks it had, and how many bytes wait in the spill. */
  storageTold(figures: Readonly<{ commitMs?: number; groupSize?: number; spillBytes: number }>): void
  /** An alert's delivery was tried, with this result. */
  alertDelivered(channel: 'email' | 'webhook' | 'telegram', result: 'delivered' | 'failed' | 'given up'): void
  /** What became of an update that the cabinet's bot got. */
  botUpdate(result: 'answered' | 'given up' | 'dropped'): void
  /** So many finished answers were not kept for a restart. */
  answersLost(count: number): void
  /** So many deliveries were dropped, since their account had no room for them. */
  alertDropped(count: number): void
  /** Counts what became of an event of Stripe's. `type`: Stripe's name; 'none' where the event was not Stripe's. */
  paymentEvent(type: string, result: PaymentResult): void
  /** A gauge that is read when the metrics are: `gauge('tollgate_ledger_writable', '…', () => (ledger.isWritable() ? 1 : 0))`. Names are unique. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** A gauge with labels: `read` returns rows of label values, in the order of the label names, each with its number. */
  gauges(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => readonly (readonly [labels: readonly string[], value: number])[],
  ): void
  /** Events of the upstream pool. */
  readonly pool: PoolMetrics
  /** The last minute as plain numbers. */
  minute(): MinuteReading
  /** The text that answers a scrape, under `contentType`. */
  render(): Promise<string>
  readonly contentType: string
}

/**
 * booked: the event moved money · already: it had done so before · ignored: it is not about a payment of ours · refused: it cannot be booked, an alarm · forged: its signature is
 * not Stripe's, or too old · unavailable: Stripe must send it again.
 */
export type PaymentResult = 'booked' | 'already' | 'ignored' | 'refused' | 'forged' | 'unavailable'
/** `streams`: the number of running streams. */
export type MinuteReading = PulseReading & Readonly<{ streams: number; spillBytes: number }>

type PoolMetrics = Readonly<{
  /** A call ended without an answer, or its answer began: 'answered', or the fault's cause. */
  called(upstream: string, result: string): void
  /** A request went on to another upstream, or could not, since the budget for retries was spent. */
  retried(how: 'retried' | 'budget spent'): void
  /** A conversation was answered: by the upstream that has it in its cache, or by another. */
  placed(affinity: 'new' | 'kept' | 'moved'): void
  thinkingLost(): void
  /** A breaker opened or closed. */
  changed(upstream: string, model: string, state: 'closed' | 'open' | 'half-open'): void
  /** An answer named another model than was asked for. */
  otherModel(upstream: string): void
  /** A door's count of an answer differs from the answer's own usage. `counter`: a constant of the code. */
  countDiffers(upstream: string, counter: string): void
}>

const FIRST_BYTE_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 360]
const DURATION_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300, 600]
const COMMIT_BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const NONE = 'none'
const BREAKER_VALUES = { closed: 0, open: 1, 'half-open': 1 } as const
const PICOS_PER_USD = 1e12

/** `alsoEnded`: called with each line, too. */
export function makeMetrics(alsoEnded: (line: RequestLine) => void = () => undefined): Metrics {
  const seen = instruments()
  const families: Family[] = [...Object.values(seen), ...processMetrics()]
  const causes = new CauseLabel()
  const pulse = new Pulse({ monotonicMs: () => performance.now(), now: Date.now })
  return {
    requestEnded(line) {
      pulse.ended(line)
      alsoEnded(line)
      countRequest(seen, line)
      countUse(seen, line)
      if (line.cause !== undefined) seen.faults.add([line.upstream ?? NONE, causes.of(line.cause)])
      if (line.isAlarm === true) seen.alarms.add(['upstream'])
    },
    streamStarted: (format) => seen.streams.add([format]),
    streamEnded: (format) => seen.streams.add([format], -1),
    alarm: (what) => seen.alarms.add([what]),
    storageTold({ commitMs, groupSize = 1, spillBytes }) {
      if (commitMs !== undefined) {
        seen.commits.observe([], commitMs / 1000)
        pulse.committed(commitMs, groupSize)
      }
      seen.spill.set([], spillBytes)
    },
    alertDelivered: (channel, result) => seen.deliveries.add([channel, result]),
    botUpdate: (result) => seen.botUpdates.add([result]),
    answersLost: (count) => seen.lost.add([], count),
    alertDropped: (count) => seen.dropped.add([], count),
    pool: {
      called(upstream, result) {
        seen.attempts.add([upstream, causes.of(result)])
        pulse.called(result === 'answered')
      },
      retried(how) {
        seen.retries.add([how])
        if (how === 'retried') pulse.retried()
      },
      placed: (affinity) => seen.affinity.add([affinity]),
      thinkingLost: () => seen.thinkingLost.add([]),
      otherModel: (upstream) => seen.otherModels.add([upstream]),
      countDiffers: (upstream, counter) => seen.countDifferences.add([upstream, counter]),
      changed: (upstream, model, state) => seen.breakers.set([upstream, model], BREAKER_VALUES[state]),
    },
    paymentEvent: (type, result) => seen.payments.add([type, result]),
    gauge: (name, help, read) => void families.push(reading('gauge', name, help, read)),
    gauges: (name, help, labelNames, read) => void families.push(readings(name, help, labelNames, read)),
    minute: () => ({ ...pulse.read(), streams: seen.streams.total(), spillBytes: seen.spill.total() }),
    render: async () => `${(await Promise.all(families.map((family) => family.render()))).join('\n\n')}\n`,
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
  }
}

type Instruments = ReturnType<typeof instruments>

function instruments() {
  const counter = (name: string, help: string, labelNames: readonly string[]): Sums => new Sums('counter', name, help, labelNames)
  return {
    requests: counter('tollgate_requests_total', 'Requests that ended.', ['route', 'format', 'model', 'status', 'refusal', 'outcome']),
    tokens: counter('tollgate_tokens_total', 'Tokens read and written, by how they are priced.', ['format', 'model', 'class']),
    cost: counter('tollgate_cost_usd_total', 'Charged; the ledger has the exact figure.', ['format', 'model']),
    waived: counter('tollgate_waived_usd_total', 'Used but not charged.', ['format', 'model']),
    estimated: counter('tollgate_estimated_total', 'Requests billed by at least one figure of our own estimate.', ['format', 'model']),
    implausible: counter('tollgate_implausible_usage_total', 'Answers whose reported usage cannot be true: it was estimated.', [
      'upstream',
    ]),
    costOverHold: counter('tollgate_cost_over_hold_total', 'Receipts that cost more than was reserved for them.', ['format', 'model']),
    faults: counter('tollgate_upstream_faults_total', 'Requests that an upstream fault ended.', ['upstream', 'cause']),
    attempts: counter('tollgate_upstream_attempts_total', 'Calls of an upstream, by what came of them.', ['upstream', 'result']),
    retries: counter('tollgate_upstream_retries_total', 'Requests that failed over, or could not: the budget was spent.', ['how']),
    affinity: counter('tollgate_affinity_total', 'Conversations by whether the upstream that answered had them in its cache.', ['how']),
    thinkingLost: counter('tollgate_thinking_lost_total', 'Conversations with thinking that another upstream answered before.', []),
    cacheLost: counter('tollgate_cache_lost_usd_total', 'Cache writes of conversations that another upstream had in its cache.', ['model']),
    breakers: new Sums('gauge', 'tollgate_upstream_breaker', '0 closed, 1 open. Half-open counts as open.', ['upstream', 'model']),
    otherModels: counter('tollgate_upstream_other_model_total', 'Answers that name another model than was asked for.', ['upstream']),
    countDifferences: counter(
      'tollgate_upstream_count_differences_total',
      'Answers that the upstream counted otherwise than their own usage does, by the first counter that differs.',
      ['upstream', 'counter'],
    ),
    payments: counter('tollgate_payment_events_total', 'Events of Stripe, by what became of them.', ['type', 'result']),
    alarms: counter('tollgate_alarms_total', 'Findings that an operator must act on.', ['what']),
    deliveries: counter('tollgate_alert_deliveries_total', 'Tries to deliver an alert, by what came of them.', ['channel', 'result']),
    botUpdates: counter('tollgate_bot_updates_total', 'Messages and pressed buttons that the bot got, by what came of them.', ['result']),
    lost: counter('tollgate_answers_lost_total', 'Finished answers that were not kept for a restart: the disk, or too many at once.', []),
    dropped: counter('tollgate_alerts_dropped_total', 'Deliveries that their account had no room for.', []),
    commits: new Histogram(
      'tollgate_ledger_commit_seconds',
      'Of a group of writes on the ledger thread, with its flush.',
      [],
      COMMIT_BUCKETS_SECONDS,
    ),
    spill: new Sums('gauge', 'tollgate_spill_bytes', 'Charges that wait for the ledger to be writable again.', []),
    firstByte: new Histogram(
      'tollgate_first_byte_seconds',
      'From the request to the first byte of the answer.',
      ['format', 'stream'],
      FIRST_BYTE_BUCKETS_SECONDS,
    ),
    duration: new Histogram(
      'tollgate_request_duration_seconds',
      'From the request to the end of the answer.',
      ['route', 'stream'],
      DURATION_BUCKETS_SECONDS,
    ),
    streams: new Sums('gauge', 'tollgate_streams_in_flight', 'Streams that are running.', ['format']),
  }
}

function countRequest(seen: Instruments, line: RequestLine): void {
  const { route, format = NONE, model = NONE, refusal = NONE, outcome = NONE } = line
  const stream = line.isStream === true ? 'true' : 'false'
  seen.requests.add([route, format, model, String(line.status), refusal, outcome])
  if (line.firstByteMs !== undefined) seen.firstByte.observe([format, stream], line.firstByteMs / 1000)
  seen.duration.observe([route, stream], line.durationMs / 1000)
}

function countUse(seen: Instruments, line: RequestLine): void {
  const { format = NONE, model = NONE, usage } = line
  if (usage !== undefined) countTokens(seen.tokens, format, model, usage)
  if (line.costPicos !== undefined) seen.cost.add([format, model], usd(line.costPicos))
  if (line.waivedPicos !== undefined) seen.waived.add([format, model], usd(line.waivedPicos))
  if (line.disbelieved !== undefined) seen.implausible.add([line.disbelieved])
  if (line.usageSource === 'estimated') seen.estimated.add([format, model])
  if (line.cacheLostPicos !== undefined) seen.cacheLost.add([model], usd(line.cacheLostPicos))
  if (line.costOverHoldPicos !== undefined) seen.costOverHold.add([format, model])
}

function countTokens(tokens: Sums, format: string, model: string, usage: Usage): void {
  if (usage.input > 0) tokens.add([format, model, 'input'], usage.input)
  if (usage.output > 0) tokens.add([format, model, 'output'], usage.output)
  if (usage.cacheRead > 0) tokens.add([format, model, 'cache_read'], usage.cacheRead)
  if (usage.cacheWrite5m > 0) tokens.add([format, model, 'cache_write_5m'], usage.cacheWrite5m)
  if (usage.cacheWrite1h > 0) tokens.add([format, model, 'cache_write_1h'], usage.cacheWrite1h)
}

/** The amount as a float, which is enough for a metric: the exact amount is in the ledger. */
const usd = (amount: Picos): number => Number(amount) / PICOS_PER_USD

/** A fault's cause as a label: few values, whatever an upstream does. */
const STATUS = /^status ([1-5])\d\d$/
/** Statuses that tell an operator something of their own; the others are counted by their hundred. */
const STATUSES = new Set([400, 401, 402, 403, 404, 408, 409, 413, 425, 429, 500, 502, 503, 504, 529].map((status) => `status ${status}`))
const WORDS_MAX = 40

/** 'status 529' stays, 'status 418' becomes 'status 4xx'. Of other causes the first 40 stay; every later one is 'other'. */
class CauseLabel {
  readonly #words = new Set<string>()

  of(cause: string): string {
    if (STATUSES.has(cause) || this.#words.has(cause)) return cause
    const hundred = STATUS.exec(cause)?.[1]
    if (hundred !== undefined) return `status ${hundred}xx`
    if (this.#words.size >= WORDS_MAX) return 'other'
    this.#words.add(cause)
    return cause
  }
}
