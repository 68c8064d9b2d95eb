/** The facts of a request that has ended, for its log line and for the labels and amounts of its metrics. Never a body, a secret or an upstream's text. */

import type { FormatName } from '../core/format.ts'
import type { Picos } from '../core/money.ts'
import type { Outcome, UsageSource } from '../core/outcome.ts'
import type { RefusalName } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'

export type RequestLine = Readonly<{
  requestId: string
  /** Route pattern, such as `/v1/messages`: never the raw path. */
  route: string
  /** The path where no route answers; without query or secrets. */
  path?: string | undefined
  /** Key of the per-client limits, where there is no key of ours to name. */
  client?: string | undefined
  /** Requests that the line stands for, where it may be more than its own. */
  count?: number | undefined
  format?: FormatName | undefined
  keyId?: string | undefined
  accountId?: string | undefined
  /** Public id of a model of the catalogue; absent when the client named another. */
  model?: string | undefined
  isStream?: boolean | undefined
  status: number
  refusal?: RefusalName | undefined
  outcome?: Outcome | undefined
  usageSource?: UsageSource | undefined
  usage?: Usage | undefined
  costPicos?: Picos | undefined
  waivedPicos?: Picos | undefined
  /** The bytes per token of an estimate. */
  bytesPerToken?: number | undefined
  /** How far the cost is above what was reserved for it; absent where it is not. */
  costOverHoldPicos?: Picos | undefined
  /** Paid for writing a prompt into a cache that is warm elsewhere; absent where nothing was. */
  cacheLostPicos?: Picos | undefined
  upstream?: string | undefined
  /** The upstream whose usage cannot be true, so that an estimate took its place; absent where it can. */
  disbelieved?: string | undefined
  /** Id of the request whose answer was given once more. */
  replayOf?: string | undefined
  /** Upstream calls, where there was more than one. */
  attempts?: number | undefined
  /** A fault's cause: 'connect', 'status 529'. */
  cause?: string | undefined
  isAlarm?: boolean | undefined
  firstByteMs?: number | undefined
  durationMs: number
}>
