/** What has been seen of an answer so far, before any translation: enough to bill every way to end. */

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
  /** `output` was told at the end: what `message_start` says of it is only a beginning. */
  isOutputFinal: boolean
  /** Raw native value; undefined until a `message_delta` names one. */
  stopReason: string | undefined
  stopSequence: string | undefined
  /** Of a server whose figures come behind the end: it has come, and they may not. */
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
    // A signature is thinking that the client did not ask to read: it was written and paid for all the same. One of ours says nothing.
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
 * It is kept with the receipt, so it is bounded, and text that a store gives back as it was: Postgres refuses a NUL, and the receipt with it, and half of a pair of
 * surrogates comes back as another character, so that the chain would not be what its hash says.
 */
export const messageIdOf = ({ id }: JsonObject): string | undefined =>
  typeof id === 'string' && id !== '' ? id.slice(0, MESSAGE_ID_LENGTH_MAX).toWellFormed().replaceAll('\0', '\ufffd') : undefined

/** What an upstream names may be of any length. */
export const modelOf = ({ model }: JsonObject): string | undefined =>
  typeof model === 'string' ? model.slice(0, MODEL_LENGTH_MAX).toWellFormed() : undefined

const MODEL_LENGTH_MAX = 256

/** A stop reason and the final figures have come: nothing but the terminal event is missing, and it says nothing. */
export const isToldWhole = (seen: Observation): boolean => seen.isFinished === true || (seen.stopReason !== undefined && seen.isOutputFinal)

/** The same, where less was delivered than was written before a cut: an estimate counts only what was on its way to the client. */
export const onlyDelivered = (seen: Observation, contentBytes: number): Observation =>
  seen.stopReason === undefined ? { ...seen, contentBytes } : seen

/** Bytes of what a block says: of a call its name, too; the `{}` with which its input begins says nothing. */
export function contentBytesOf({ text, thinking, signature, name, input }: JsonObject): number {
  const written = isObject(input) && Object.keys(input).length > 0 ? Buffer.byteLength(JSON.stringify(input)) : 0
  return bytesOf(text) + bytesOf(thinking) + bytesOf(signature) + (isObject(input) ? bytesOf(name) : 0) + written
}

const bytesOf = (part: unknown): number => (typeof part === 'string' ? Buffer.byteLength(part) : 0)

/** What is billed. `promptTokens`: by which the price level is chosen. */
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
 * The upstream told a figure that cannot be true: it read nothing, or wrote nothing of what it delivered. It counts as not told. Some say 0 at the beginning and
 * the truth at the end, where it is believed.
 */
export const isImplausible = (seen: Observation): boolean => readsNothing(seen) || writesNothing(seen)

/** A refusal before the first word costs what it reports, which may be nothing. */
function readsNothing({ reported, stopReason, contentBytes }: Observation): boolean {
  if (reported.input !== 0 || (stopReason === 'refusal' && contentBytes === 0)) return false
  return promptOf(billedUsage(reported)) === 0
}

/** What is said of the output before the end is only a beginning. */
const writesNothing = ({ reported, isOutputFinal, contentBytes }: Observation): boolean =>
  isOutputFinal && contentBytes > 0 && reported.output === 0 && reported.hidden.output === 0

const isTrusted = (reported: ReportedUsage): boolean => isReported(reported) && !reported.absurd

const isExact = (seen: Observation): boolean => isTrusted(seen.reported) && seen.isOutputFinal && !isImplausible(seen)

/** The estimate is of the whole prompt: what the cache is told to have read or written of it is not counted twice. */
function inputOf(seen: Observation, { inputEstimate }: Bounds): number {
  const { input, cacheRead = 0 } = seen.reported
  if (input !== undefined && !readsNothing(seen)) return input
  return Math.max(0, inputEstimate - cacheRead - cacheCreationOf(seen.reported))
}

/** A figure from the end is believed unless something in it was absurd, or it cannot be true. */
function outputOf(seen: Observation, bounds: Bounds): number {
  const { output = 0, absurd } = seen.reported
  return seen.isOutputFinal && !absurd && !writesNothing(seen) ? output : Math.max(output, estimatedOutput(seen, bounds))
}

/** Whatever was delivered is one token at least. */
const estimatedOutput = ({ contentBytes }: Observation, { bytesPerToken, outputTokensMax }: Bounds): number =>
  Math.min(contentBytes === 0 ? 0 : Math.max(1, Math.floor(contentBytes / bytesPerToken)), outputTokensMax)
