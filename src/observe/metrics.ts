/**
 * The metrics, in Prometheus' text format on the operator's listener. Every label has few values: routes, formats, models of the catalogue, statuses,
 * refusal names, outcomes, configured upstreams. Nothing that a client or an upstream can invent becomes a label. Rules: operator.md "Metrics".
 */

import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { FormatName } from '../core/format.ts'
import { type Picos, toExactUsdText } from '../core/money.ts'
import { registerProcessMetrics } from './process-metrics.ts'
import type { RequestLine } from './request-line.ts'

export interface Metrics {
  /** Once a request, with the same line as the log. Counts the line's alarm, too. */
  requestEnded(line: RequestLine): void
  /** A streamed request has been sent to the upstream. */
  streamStarted(format: FormatName): void
  /** Exactly once for each started stream. */
  streamEnded(format: FormatName): void
  /** An alarm that is not a request's own. `what` is a constant of the code. */
  alarm(what: string): void
  /** A gauge that is read when the metrics are: `gauge('tollgate_ledger_writable', '…', () => (ledger.isWritable() ? 1 : 0))`. Names are unique. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** The text to answer with, under `contentType`. */
  render(): Promise<string>
  readonly contentType: string
}

const FIRST_BYTE_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 360]
const DURATION_BUCKETS_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 300, 600]
const NONE = 'none'

export function makeMetrics(): Metrics {
  const registry = new Registry()
  const seen = instrumentsOf(registry)
  registerProcessMetrics(registry)
  const causes = new CauseLabel()
  return {
    requestEnded(line) {
      countRequest(seen, line)
      countUse(seen, line)
      if (line.cause !== undefined) seen.faults.inc({ upstream: line.upstream ?? NONE, cause: causes.of(line.cause) })
      if (line.isAlarm === true) seen.alarms.inc({ what: 'upstream' })
    },
    streamStarted: (format) => seen.streams.inc({ format }),
    streamEnded: (format) => seen.streams.dec({ format }),
    alarm: (what) => seen.alarms.inc({ what }),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          this.set(await read())
        },
      })
    },
    render: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

type Instruments = ReturnType<typeof instrumentsOf>

function instrumentsOf(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]): Histogram<Label> =>
    new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  return {
    requests: counter('tollgate_requests_total', 'Requests that ended.', ['route', 'format', 'model', 'status', 'refusal', 'outcome']),
    tokens: counter('tollgate_tokens_total', 'Tokens read and written, by how they are priced.', ['format', 'model', 'class']),
    cost: counter('tollgate_cost_usd_total', 'Charged; the ledger has the exact figure.', ['format', 'model']),
    waived: counter('tollgate_waived_usd_total', 'Used but not charged.', ['format', 'model']),
    estimated: counter('tollgate_estimated_total', 'Requests billed by at least one figure of our own estimate.', ['format', 'model']),
    costOverHold: counter('tollgate_cost_over_hold_total', 'Receipts that cost more than was reserved for them.', ['format', 'model']),
    faults: counter('tollgate_upstream_faults_total', 'Requests that an upstream fault ended.', ['upstream', 'cause']),
    alarms: counter('tollgate_alarms_total', 'Findings that an operator must act on.', ['what']),
    firstByte: histogram(
      'tollgate_first_byte_seconds',
      'From the request to the first byte of the answer.',
      ['format', 'stream'],
      FIRST_BYTE_BUCKETS_SECONDS,
    ),
    duration: histogram(
      'tollgate_request_duration_seconds',
      'From the request to the end of the answer.',
      ['route', 'stream'],
      DURATION_BUCKETS_SECONDS,
    ),
    streams: new Gauge({
      name: 'tollgate_streams_in_flight',
      help: 'Streams that are running.',
      labelNames: ['format'],
      registers: [registry],
    }),
  }
}

function countRequest(seen: Instruments, line: RequestLine): void {
  const format = line.format ?? NONE
  const stream = String(line.isStream ?? false)
  seen.requests.inc({
    route: line.route,
    format,
    model: line.model ?? NONE,
    status: line.status,
    refusal: line.refusal ?? NONE,
    outcome: line.outcome ?? NONE,
  })
  if (line.firstByteMs !== undefined) seen.firstByte.observe({ format, stream }, line.firstByteMs / 1000)
  seen.duration.observe({ route: line.route, stream }, line.durationMs / 1000)
}

function countUse(seen: Instruments, line: RequestLine): void {
  const labels = { format: line.format ?? NONE, model: line.model ?? NONE }
  for (const [name, count] of tokenClasses(line)) if (count > 0) seen.tokens.inc({ ...labels, class: name }, count)
  if (line.costPicos !== undefined) seen.cost.inc(labels, usd(line.costPicos))
  if (line.waivedPicos !== undefined) seen.waived.inc(labels, usd(line.waivedPicos))
  if (line.usageSource === 'estimated') seen.estimated.inc(labels)
  if (line.costOverHoldPicos !== undefined) seen.costOverHold.inc(labels)
}

function tokenClasses({ usage }: RequestLine): readonly (readonly [string, number])[] {
  if (usage === undefined) return []
  return [
    ['input', usage.input],
    ['output', usage.output],
    ['cache_read', usage.cacheRead],
    ['cache_write_5m', usage.cacheWrite5m],
    ['cache_write_1h', usage.cacheWrite1h],
  ]
}

/** A metric may be a float: what must be exact is in the ledger. */
const usd = (amount: Picos): number => Number(toExactUsdText(amount))

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
