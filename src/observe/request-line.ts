/** The facts of a request that has ended, for its log line and for the labels and amounts of its metrics. They never hold a body, a secret or an upstream's text. */

import type { FormatName } from '../core/format.ts'
import type { Picos } from '../core/money.ts'
import type { Outcome, UsageSource } from '../core/outcome.ts'
import type { RefusalName } from '../core/refusal.ts'
import type { Usage } from '../core/usage.ts'

export type RequestLine = Readonly<{
  requestId: string
  /** Route pattern, such as `/v1/messages`: never the raw path. */
  route: string
  /** The path, without query and secrets, of a request that no route answers. */
  path?: string | undefined
  /** The client's name in the per-client limits, where the request has no key of ours. */
  client?: string | undefined
  /** How many requests the line stands for, where it may stand for several. */
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
  /** The bytes per token that an estimate was made with. */
  bytesPerToken?: number | undefined
  /** The part of the cost that exceeds the hold; absent where none does. */
  costOverHoldPicos?: Picos | undefined
  /** The cost of writing a prompt into a cache although another upstream has it in its own; absent where there was none. */
  cacheLostPicos?: Picos | undefined
  /** The conversation has thinking that may be bound to the account of the upstream that answered it before. */
  hasLostThinking?: boolean | undefined
  upstream?: string | undefined
  /** The upstream whose usage cannot be true, so that an estimate took its place; absent where the usage was believed. */
  disbelieved?: string | undefined
  /** Id of the request whose answer was given once more. */
  replayOf?: string | undefined
  /** The number of upstream calls, where there was more than one. */
  attempts?: number | undefined
  /** A fault's cause: 'connect', 'status 529'. */
  cause?: string | undefined
  isAlarm?: boolean | undefined
  firstByteMs?: number | undefined
  durationMs: number
}>
