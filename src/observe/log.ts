/**
 * The log: one JSON line for each request, and few other lines. Field names are part of the product: snake_case, money as exact decimal text, never a body or a secret.
 * Rules: requests.md "What never leaks"; operator.md "Log".
 */

import { type Picos, toExactUsdText } from '../core/money.ts'
import { isKeylessRefusal, KeylessRefusals } from './keyless-refusals.ts'
import { MinutelyNotices } from './minutely-notices.ts'
import type { RequestLine } from './request-line.ts'

export interface Log {
  /** The end of a request. Level: error where an operator must act, warn for 5xx, else info. */
  request(line: RequestLine): void
  /** Something that an operator must act on. `what` is a constant of the code: the metrics count by it. */
  alarm(what: string, fields?: LogFields): void
  /** Something worth knowing once: started, reloaded, draining. */
  notice(text: string, fields?: LogFields): void
  /** Writes lines for what is only counted so far. Later lines are still written. */
  flush(): void
}

type LogFields = Readonly<Record<string, string | number>>

type LogLevel = 'info' | 'warn' | 'error'

export type LogOptions = Readonly<{
  /** Takes one whole line, with its newline. Must not throw and must not wait. */
  write: (line: string) => void
  /** The node's name, put into each line where several nodes write to one place; undefined: there is only one. */
  node?: string | undefined
  /** Called for every alarm that is not a request's own: `metrics.alarm`. */
  onAlarm?: (what: string, fields: LogFields) => void
  /** Called for a request whose end an operator must act on. */
  onRequestAlarm?: (line: RequestLine) => void
  /** Milliseconds that never jump. */
  now?: () => number
}>

export function makeLog({ write, node, onAlarm, onRequestAlarm, now = () => performance.now() }: LogOptions): Log {
  const by = node === undefined ? '' : `,"node":${JSON.stringify(node)}`
  const textOf = (level: LogLevel, fields: Readonly<Record<string, unknown>>): string => lineOf(level, by, fields)
  const tell = (line: RequestLine): void => write(textOf(levelOf(line), fieldsOf(line)))
  const keyless = new KeylessRefusals(tell, now)
  const notice: Log['notice'] = (text, fields) => write(textOf('info', { notice: text, ...fields }))
  const disbelieved = new MinutelyNotices(
    (upstream, count) => notice('an upstream reports a usage that cannot be true: it is estimated', { upstream, count }),
    now,
  )
  return {
    request(line) {
      if (line.isAlarm === true) onRequestAlarm?.(line)
      if (line.disbelieved !== undefined) disbelieved.add(line.disbelieved, undefined)
      if (isKeylessRefusal(line)) keyless.add(line)
      else tell(line)
    },
    alarm(what, fields = {}) {
      write(textOf('error', { alarm: what, ...fields }))
      onAlarm?.(what, fields)
    },
    notice,
    flush: () => keyless.flush(),
  }
}

/** JSON escapes line breaks and control characters, so the result is one line, whatever texts of others it holds. */
const lineOf = (level: LogLevel, by: string, fields: Readonly<Record<string, unknown>>): string => {
  const head = `{"level":"${level}","time":"${new Date().toISOString()}"${by}`
  return `${head},${JSON.stringify(fields).slice(1)}\n`
}

function levelOf(line: RequestLine): LogLevel {
  if (line.isAlarm === true) return 'error'
  return line.status >= 500 ? 'warn' : 'info'
}

/** Absent fields stay absent: JSON leaves `undefined` out. */
const fieldsOf = (line: RequestLine): Record<string, unknown> => ({
  request_id: line.requestId,
  route: line.route,
  path: line.path,
  format: line.format,
  key_id: line.keyId,
  account_id: line.accountId,
  model: line.model,
  stream: line.isStream,
  status: line.status,
  refusal: line.refusal,
  client: line.client,
  count: line.count,
  outcome: line.outcome,
  usage_source: line.usageSource,
  input_tokens: line.usage?.input,
  output_tokens: line.usage?.output,
  cache_read_tokens: line.usage?.cacheRead,
  cache_write_5m_tokens: line.usage?.cacheWrite5m,
  cache_write_1h_tokens: line.usage?.cacheWrite1h,
  server_tool_uses: line.usage?.serverToolUses,
  cost_usd: usdText(line.costPicos),
  waived_usd: usdText(line.waivedPicos),
  bytes_per_token: line.bytesPerToken,
  cost_over_hold_usd: usdText(line.costOverHoldPicos),
  cache_lost_usd: usdText(line.cacheLostPicos),
  thinking_lost: line.hasLostThinking,
  upstream: line.upstream,
  attempts: line.attempts,
  replay_of: line.replayOf,
  cause: line.cause,
  alarm: line.isAlarm === true ? 'upstream' : undefined,
  first_byte_ms: wholeMs(line.firstByteMs),
  duration_ms: wholeMs(line.durationMs),
})

const usdText = (amount: Picos | undefined): string | undefined => (amount === undefined ? undefined : toExactUsdText(amount))
const wholeMs = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.round(ms))
