/** What has been seen of an answer so far, before any translation: enough to bill the answer however it ends. */

import { isObject, type JsonObject } from '../json.ts'
import type { Bounds } from '../pricing.ts'
import {
  billedUsage,
  cacheCreationOf,
  isReported,
  mergeUsage,
  NO_USAGE,
  NOT_REPORTED,
  pricedPromptOf,
  promptOf,
  type ReportedUsage,
  type Usage,
} from '../usage.ts'
import type { NativeEvent } from './event.ts'
import { isOwnSignature } from './own-signature.ts'

export type Observation = {
  /** `message_start` was seen: from here on an ended stream is billed. */
  hasStarted: boolean
  /** The upstream's own id of the message; undefined where it gave none. */
  messageId: string | undefined
  /** The model that the answer names; undefined where it names none. */
  model: string | undefined
  reported: ReportedUsage
  /** The end of the answer has told `output`; the figure in `message_start` is only a beginning. */
  isOutputFinal: boolean
  /** The native value as it came; undefined until a `message_delta` names one. */
  stopReason: string | undefined
  stopSequence: string | undefined
  /** For a server that sends its figures after the answer's end: the end has come; the figures may be missing. */
  isFinished?: boolean
  /** Bytes of text, thinking, signatures and tool input that were delivered, as JSON literals without their quotes. */
  contentBytes: number
}

export const nothingSeen = (): Observation => ({
  hasStarted: false,
  messageId: undefined,
  model: undefined,
  reported: NOT_REPORTED,
  isOutputFinal: false,
  stopReason: undefined,
  stopSequence: undefined,
  contentBytes: 0,
})

/** Updates the observation with an event that carries usage, the stop reason, or a block that has content before its first delta. */
export function observe(seen: Observation, event: NativeEvent): void {
  if (event.type === 'message_start') {
    if (seen.hasStarted) return
    seen.hasStarted = true
    const message = event.body['message']
    if (!isObject(message)) return
    seen.reported = mergeUsage(seen.reported, message['usage'])
    seen.messageId = messageIdOf(message)
    seen.model = modelOf(message)
  } else if (event.type === 'content_block_start') {
    const block = event.body['content_block']
    if (isObject(block)) seen.contentBytes += contentBytesOf(block)
  } else if (event.type === 'content_block_delta') {
    const delta = event.body['delta']
    // A signature stands for thinking that the client did not ask to read, but that was written and is paid for. A signature that the gateway made counts nothing.
    if (isObject(delta) && typeof delta['signature'] === 'string' && !isOwnSignature(delta['signature']))
      seen.contentBytes += delta['signature'].length
  } else if (event.type === 'message_delta') {
    const { usage } = event.body
    seen.reported = mergeUsage(seen.reported, usage)
    if (isObject(usage) && typeof usage['output_tokens'] === 'number') seen.isOutputFinal = true
    const delta = event.body['delta']
    if (!isObject(delta)) return
    if (typeof delta['stop_reason'] === 'string') seen.stopReason = delta['stop_reason']
    if (typeof delta['stop_sequence'] === 'string') seen.stopSequence = delta['stop_sequence']
  }
}

const MESSAGE_ID_LENGTH_MAX = 128

/**
 * The message id is kept with the receipt, so it is bounded and must come back from any store unchanged: Postgres refuses a NUL, and the receipt with it, and half of a pair of
 * surrogates comes back as another character, so that the chain would not be what its hash says.
 */
export const messageIdOf = ({ id }: JsonObject): string | undefined =>
  typeof id === 'string' && id !== '' ? id.slice(0, MESSAGE_ID_LENGTH_MAX).toWellFormed().replaceAll('\0', '\ufffd') : undefined

/** The model that the message names, cut: an upstream may send a text of any length. */
export const modelOf = ({ model }: JsonObject): string | undefined =>
  typeof model === 'string' ? model.slice(0, MODEL_LENGTH_MAX).toWellFormed() : undefined

const MODEL_LENGTH_MAX = 256

/** A stop reason and the final figures have come: only the terminal event is missing, and it adds nothing. */
export const isToldWhole = (seen: Observation): boolean => seen.isFinished === true || (seen.stopReason !== undefined && seen.isOutputFinal)

/** The observation of a cut answer with only the content that was on its way to the client: an estimate counts no more than that. */
export const onlyDelivered = (seen: Observation, contentBytes: number): Observation =>
  seen.stopReason === undefined ? { ...seen, contentBytes } : seen

/** The bytes of a block's content. A call's name counts, too; the `{}` with which its input begins does not. */
export function contentBytesOf({ text, thinking, signature, name, input }: JsonObject): number {
  const written = isObject(input) && Object.keys(input).length > 0 ? Buffer.byteLength(JSON.stringify(input)) : 0
  return bytesOf(text) + bytesOf(thinking) + bytesOf(signature) + (isObject(input) ? bytesOf(name) : 0) + written
}

const bytesOf = (part: unknown): number => (typeof part === 'string' ? Buffer.byteLength(part) : 0)

/** What is billed. `promptTokens` decides the price level. */
export type SeenUsage = Readonly<{ usage: Usage; promptTokens: number; isEstimated: boolean }>

/** Usage of a complete answer: what was reported, or an estimate where the upstream left it out or cannot be believed. */
export function finalUsage(seen: Observation, bounds: Bounds): SeenUsage {
  const usage = billedUsage(finalCounters(seen, bounds))
  return { usage, promptTokens: pricedPromptOf(seen.reported, usage), isEstimated: !isExact(seen) }
}

/** The counters behind `finalUsage`, in the upstream's own terms: what messages shows must be what is billed. */
export function finalCounters(seen: Observation, bounds: Bounds): ReportedUsage {
  const { reported } = seen
  return isExact(seen) ? reported : { ...reported, input: inputOf(seen, bounds), output: outputOf(seen, bounds) }
}

/** Usage of an answer that was cut: input exact from `message_start`; output the last cumulative figure or an estimate from what was delivered. */
export function partialUsage(seen: Observation, bounds: Bounds): SeenUsage {
  if (!seen.hasStarted) return { usage: NO_USAGE, promptTokens: 0, isEstimated: false }
  if (seen.stopReason !== undefined) return finalUsage(seen, bounds)
  const { reported } = seen
  const output = Math.max(reported.output ?? 0, estimatedOutput(seen, bounds))
  const usage = billedUsage({ ...reported, input: inputOf(seen, bounds), output })
  const isEstimated = !isTrusted(reported) || readsNothing(seen) || output !== reported.output
  return { usage, promptTokens: pricedPromptOf(reported, usage), isEstimated }
}

/**
 * The upstream told a figure that cannot be true: 0 tokens read, or 0 written although content was delivered. Such a figure counts as not told. Some say 0 at the beginning and
 * the true figure at the end, which is believed.
 */
export const isImplausible = (seen: Observation): boolean => readsNothing(seen) || writesNothing(seen)

/** The upstream says that it read no tokens. An answer that ends as a refusal before its first word may truly cost nothing. */
function readsNothing({ reported, stopReason, contentBytes }: Observation): boolean {
  if (reported.input !== 0 || (stopReason === 'refusal' && contentBytes === 0)) return false
  return promptOf(billedUsage(reported)) === 0
}

/** The upstream's final figures say that it wrote nothing, although content was delivered. Figures before the end are only a beginning. */
const writesNothing = ({ reported, isOutputFinal, contentBytes }: Observation): boolean =>
  isOutputFinal && contentBytes > 0 && reported.output === 0 && reported.hidden.output === 0

const isTrusted = (reported: ReportedUsage): boolean => isReported(reported) && !reported.absurd

const isExact = (seen: Observation): boolean => isTrusted(seen.reported) && seen.isOutputFinal && !isImplausible(seen)

/** The estimate covers the whole prompt, so the cache reads and writes that the upstream told are subtracted. */
function inputOf(seen: Observation, { inputEstimate }: Bounds): number {
  const { input, cacheRead = 0 } = seen.reported
  if (input !== undefined && !readsNothing(seen)) return input
  return Math.max(0, inputEstimate - cacheRead - cacheCreationOf(seen.reported))
}

/** A figure from the end is believed unless a counter was absurd or the figure cannot be true. */
function outputOf(seen: Observation, bounds: Bounds): number {
  const { output = 0, absurd } = seen.reported
  return seen.isOutputFinal && !absurd && !writesNothing(seen) ? output : Math.max(output, estimatedOutput(seen, bounds))
}

/** Any delivered content counts as at least one token. */
const estimatedOutput = ({ contentBytes }: Observation, { bytesPerToken, outputTokensMax }: Bounds): number =>
  Math.min(contentBytes === 0 ? 0 : Math.max(1, Math.floor(contentBytes / bytesPerToken)), outputTokensMax)
