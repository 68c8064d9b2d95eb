/**
 * The fields of a chunk or an answer that a chat client gets: those of the format, never those by which a server names itself, its prices or the provider behind it.
 * Rules: openai.md "Chat answers".
 */

import { isGiven, isObject, type JsonObject } from '../../../json.ts'
import { madeCallId } from '../reverse/call-id.ts'
import type { CallPositions } from '../reverse/call-positions.ts'
import { type Called, callsOf } from '../reverse/chunk.ts'
import type { Finished } from '../reverse/stop-reason.ts'
import type { FinishReason } from '../wire.ts'

const MESSAGE_FIELDS = ['content', 'refusal', 'reasoning_content', 'reasoning', 'reasoning_details', 'annotations'] as const
const REASONING_FIELDS = new Set<string>(['reasoning_content', 'reasoning', 'reasoning_details'])

/** The allowed fields of a delta or a message, without those that are empty and without `tool_calls`. */
export function allowedMessage(message: JsonObject, hidesReasoning: boolean): Record<string, unknown> {
  const allowed: Record<string, unknown> = {}
  for (const name of MESSAGE_FIELDS)
    if (isGiven(message[name]) && message[name] !== '' && !(hidesReasoning && REASONING_FIELDS.has(name))) allowed[name] = message[name]
  const legacy = message['function_call']
  if (isObject(legacy)) allowed['function_call'] = only(legacy, ['name', 'arguments'])
  return allowed
}

const only = (object: JsonObject, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.filter((name) => isGiven(object[name])).map((name) => [name, object[name]]))

/** The calls of a delta as clients expect them: each has an index, and only its first piece has id, type and name, whatever the server leaves out or repeats. */
export function allowedCalls(delta: JsonObject, positions: CallPositions, answerId: string): readonly JsonObject[] {
  return toolCallsOf(delta).map(({ called, isCustom }) => {
    const before = positions.count
    const index = positions.positionOf(called)
    return { index, ...(index < before ? argumentsOf(called.args, isCustom) : wholeCall(called, madeCallId(answerId, index), isCustom)) }
  })
}

/** The calls of a whole message. */
export const wholeCalls = (message: JsonObject, answerId: string): readonly JsonObject[] =>
  toolCallsOf(message).map(({ called, isCustom }, position) => wholeCall(called, madeCallId(answerId, position), isCustom))

const toolCallsOf = (holder: JsonObject): readonly Readonly<{ called: Called; isCustom: boolean }>[] =>
  (Array.isArray(holder['tool_calls']) ? holder['tool_calls'] : [])
    .filter(isObject)
    .flatMap((call) => callsOf({ tool_calls: [call] }).map((called) => ({ called, isCustom: isObject(call['custom']) })))

function wholeCall({ id, name = '', args = '' }: Called, madeId: string, isCustom: boolean): JsonObject {
  const head = { id: id ?? madeId }
  return isCustom
    ? { ...head, type: 'custom', custom: { name, input: args } }
    : { ...head, type: 'function', function: { name, arguments: args } }
}

const argumentsOf = (args = '', isCustom: boolean): JsonObject =>
  isCustom ? { custom: { input: args } } : { function: { arguments: args } }

/** The finish reason for the client, who acts on it: a reason that does not belong to the format is replaced by the one that fits the answer's calls. */
export function allowedFinish(
  finish: string | undefined,
  { hasCalls, isLegacy }: Pick<Finished, 'hasCalls'> & { isLegacy: boolean },
): FinishReason {
  if (finish === 'length' || finish === 'content_filter') return finish
  if (!hasCalls) return 'stop'
  return isLegacy ? 'function_call' : 'tool_calls'
}
