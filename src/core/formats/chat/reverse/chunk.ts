/** One chunk of a chat stream, parsed, as all its readers need it: servers differ in what they leave out and what they repeat. Rules: openai.md "Chunks". */

import type { ReasoningSetting } from '../../../chat-dialect.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { type NativeError, readNativeError } from '../../../native/error.ts'
import { REASONING_FIELDS, type ReasoningField } from '../../../native/own-signature.ts'
import type { PieceField } from './chunk-finder.ts'

/** The first choice of a chunk, the only one that is ever asked for. */
export type ChatChoice = Readonly<{ choice: JsonObject; delta: JsonObject; finish: string | undefined }>

/** Undefined: the chunk has no choice, such as the one with the usage. */
export function choiceOf(chunk: JsonObject): ChatChoice | undefined {
  const choices: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : []
  const choice = choices.filter(isObject).find(({ index }) => (index ?? 0) === 0)
  if (choice === undefined) return undefined
  const delta = [choice['delta'], choice['message']].find(isObject) ?? NOTHING
  return { choice, delta, finish: textOf(choice['finish_reason']) }
}

const NOTHING: JsonObject = {}

/** The error in a chunk. Errors come inside an answer with status 200, with choices or without, and some are told only by the finish reason. */
export function errorOf(chunk: JsonObject, choice: ChatChoice | undefined): NativeError | undefined {
  const hasError = isObject(chunk['error']) || textOf(chunk['error']) !== undefined
  if (hasError || (choice === undefined && !isObject(chunk['usage']))) return readNativeError(chunk)
  if (choice === undefined || choice.finish === undefined || !FAILED.has(choice.finish)) return undefined
  return (
    readNativeError(choice.choice) ?? {
      type: '',
      code: '',
      message: '',
      errorCode: undefined,
      promptTokens: undefined,
      contextTokens: undefined,
    }
  )
}

/** Finish reasons that say that the server gave up. */
const FAILED = new Set(['error', 'insufficient_system_resource', 'abort'])

export type Reasoning = Readonly<{ field: ReasoningField; said: string }>

/** The reasoning in a delta or a message; undefined where it has none, or where the setting hides it. */
export function reasoningOf(delta: JsonObject, setting: ReasoningSetting): Reasoning | undefined {
  if (setting === 'none') return undefined
  for (const field of setting === 'auto' ? REASONING_FIELDS : [setting]) {
    const said = textOf(delta[field])
    if (said !== undefined) return { field, said }
  }
  const details: readonly unknown[] = Array.isArray(delta['reasoning_details']) ? delta['reasoning_details'] : []
  const said = details
    .filter(isObject)
    .map((detail) => textOf(detail['text']) ?? textOf(detail['summary']) ?? '')
    .join('')
  return said === '' ? undefined : { field: 'reasoning', said }
}

export type Called = Readonly<{ index: number | undefined; id: string | undefined; name: string | undefined; args: string | undefined }>

/** The calls of a delta or a message; the older form has at most one. */
export function callsOf(delta: JsonObject): readonly Called[] {
  const calls: readonly unknown[] = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : []
  const legacy = isObject(delta['function_call']) ? [{ index: 0, function: delta['function_call'] }] : []
  return [...calls, ...legacy].filter(isObject).map((call) => {
    const called = [call['function'], call['custom']].find(isObject) ?? NOTHING
    const args = called['arguments'] ?? called['input']
    return {
      index: Number.isSafeInteger(call['index']) ? Number(call['index']) : undefined,
      id: textOf(call['id']),
      name: textOf(called['name']),
      args: isObject(args) ? JSON.stringify(args) : textOf(args),
    }
  })
}

/** The value where it is a text that is not empty, else undefined. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** The piece of a chunk that adds one piece and nothing else that could differ in the next chunk; undefined for any other chunk. */
export function onlyPiece({ choice, delta, finish }: ChatChoice, setting: ReasoningSetting): OnlyPiece | undefined {
  if (finish !== undefined || (choice['logprobs'] ?? null) !== null) return undefined
  const said = Object.entries(delta).filter(([name, value]) => name !== 'role' && value !== null && value !== '')
  const [only, ...more] = said
  if (only === undefined || more.length > 0) return undefined
  const [name, value] = only
  if (name === 'content' && typeof value === 'string') return { field: name, call: 0, said: value }
  const reasoning = reasoningOf(delta, setting)
  if (reasoning?.field === name) return { ...reasoning, call: 0 }
  return name === 'tool_calls' ? onlyArguments(value) : undefined
}

export type OnlyPiece = Readonly<{ field: PieceField; call: number; said: string }>

function onlyArguments(calls: unknown): OnlyPiece | undefined {
  const [call] = Array.isArray(calls) && calls.length === 1 ? calls : []
  if (!isObject(call) || !Number.isSafeInteger(call['index']) || textOf(call['id']) !== undefined) return undefined
  const called = call['function']
  if (!isObject(called) || textOf(called['name']) !== undefined || typeof called['arguments'] !== 'string') return undefined
  return { field: 'arguments', call: Number(call['index']), said: called['arguments'] }
}
