/**
 * Output items as JSON, made from the string literals of the native answer, so that the stream and the whole answer write them alike.
 * Rules: responses.md "Object", "Events".
 */

import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import { argumentsText, customInput, hasInput } from '../translate/arguments.ts'
import { type Pieces, pieces, shared } from './pieces.ts'
import type { ItemStatus, ToolName } from './wire.ts'

/** An item as it is written. */
export type OutputItem = Readonly<{ id: string; json: Pieces }>

/** The literal of an empty string. */
export const NOTHING: Pieces = ['""' as ByteString]

/** `text` is a string literal. */
export const textPart = (text: Pieces): Pieces => pieces`{"type":"output_text","text":${text},"annotations":[],"logprobs":[]}`

/** `parts` are the content parts without their brackets. */
export const messageItem = (id: string, status: ItemStatus, parts: Pieces): OutputItem => ({
  id,
  json: pieces`{"id":${encodeJson(id)},"type":"message","status":"${status}","role":"assistant","content":[${parts}]}`,
})

/** `text` is a string literal. */
export const summaryPart = (text: Pieces): Pieces => pieces`{"type":"summary_text","text":${text}}`

/** `parts` are the summary's parts without their brackets; `sealed` is an envelope, or null while there is none. */
export const reasoningItem = (id: string, parts: Pieces, sealed: Pieces | null): OutputItem => ({
  id,
  json: pieces`{"id":${encodeJson(id)},"type":"reasoning","summary":[${parts}],"encrypted_content":${sealed === null ? 'null' : pieces`"${sealed}"`}}`,
})

/** `content` is a string literal: the arguments of a function, the input of a custom tool. */
export function callItem(call: { id: string; callId: string; tool: ToolName }, status: ItemStatus, content: Pieces): OutputItem {
  const { kind, name, namespace } = call.tool
  const [type, field] = kind === 'custom' ? ['custom_tool_call', 'input'] : ['function_call', 'arguments']
  const where = namespace === undefined ? '' : `,"namespace":${encodeJson(namespace)}`
  const head = `{"id":${encodeJson(call.id)},"type":"${type}","status":"${status}","call_id":${encodeJson(call.callId)}`
  return { id: call.id, json: pieces`${head},"name":${encodeJson(name)}${where},"${field}":${content}}` }
}

/** A native input as JSON text; '' for none, since the `{}` of a block's start stands for "deltas follow". */
export const inputText = (input: unknown): string => (hasInput(input) ? argumentsText(input) : '')

/** The literal of a finished call's `arguments` or `input`, made from the native input as JSON text. */
export const contentLiteral = (tool: ToolName, text: string): Pieces =>
  shared(encodeJson(tool.kind === 'custom' ? customInput(text) : text === '' ? '{}' : text))

const PREFIXES = { reasoning: 'rs', message: 'msg', function: 'fc', custom: 'ctc' } as const

/** Item ids are unique in an answer and, as far as the upstream's message ids are, among answers. */
export const itemId = (kind: keyof typeof PREFIXES, suffix: string, outputIndex: number): string =>
  `${PREFIXES[kind]}_${suffix}_${outputIndex}`

/** The native tool_use id, or an id of ours where that is missing or was used before: clients pair calls and results by it. */
export function callIdOf(nativeId: unknown, used: Set<string>, suffix: string, outputIndex: number): string {
  const isUsable = typeof nativeId === 'string' && nativeId !== '' && !used.has(nativeId)
  const callId = isUsable ? nativeId : `call_${suffix}_${outputIndex}`
  used.add(callId)
  return callId
}

/** The client's name of a tool that the upstream called. A name that was never declared counts as a function. */
export const toolOf = (name: unknown, tools: ReadonlyMap<string, ToolName>): ToolName =>
  tools.get(String(name)) ?? { kind: 'function', name: typeof name === 'string' ? name : '', namespace: undefined }
