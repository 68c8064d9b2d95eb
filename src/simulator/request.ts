/** A native request as the simulator knows it: defaults filled in, all content as blocks. Rules: native.md "Request fields". */

import { isObject, type JsonObject } from '../core/json.ts'

export type NativeRequest = Readonly<{
  model: string
  maxTokens: number
  /** The system prompt as blocks. */
  system: readonly JsonObject[]
  messages: readonly Turn[]
  tools: readonly JsonObject[]
  toolChoice: ToolChoice
  isParallel: boolean
  stopSequences: readonly string[]
  isStream: boolean
  thinking: 'none' | 'shown' | 'omitted'
  /** The schema of `output_config.format`. */
  schema: JsonObject | undefined
  /** The `cache_control` of the request itself, which marks its last block. */
  cacheControl: unknown
}>

/** A message with its content as blocks. */
export type Turn = Readonly<{ role: string; blocks: readonly JsonObject[] }>

export type ToolChoice = Readonly<{ kind: 'auto' | 'any' | 'none' }> | Readonly<{ kind: 'tool'; name: string }>

/** Content, a system prompt or a tool result's content as blocks; a string is one text block. */
export const blocksOf = (value: unknown): readonly JsonObject[] =>
  typeof value === 'string' ? [{ type: 'text', text: value }] : objects(value)

export const objects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
