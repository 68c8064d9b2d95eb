/** The chat stream that a whole completion would have been, for a server that answers a request for a stream with JSON. Rules: openai.md "Chunks". */

import { ascii, type ByteString, encodeJson, join, toBytes } from '../../../bytes/byte-string.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { choiceOf } from './chunk.ts'

/** JSON that is no completion, such as an error, becomes one event, which the stream's reader judges. */
export function completionStream(json: JsonObject): Uint8Array {
  const choice = choiceOf(json)
  if (choice === undefined) return toBytes(frameOf(json))
  const { choices: _choices, usage, ...head } = json
  const { message: _message, delta: _delta, finish_reason, ...rest } = choice.choice
  const calls: readonly unknown[] = Array.isArray(choice.delta['tool_calls']) ? choice.delta['tool_calls'] : []
  const delta = {
    ...choice.delta,
    ...(calls.length === 0 ? {} : { tool_calls: calls.filter(isObject).map((call, index) => ({ ...call, index })) }),
  }
  const chunks = [
    { ...head, object: CHUNK, choices: [{ ...rest, index: 0, delta, finish_reason: null }] },
    {
      ...head,
      object: CHUNK,
      choices: [{ ...choice.choice, message: undefined, logprobs: null, index: 0, delta: {}, finish_reason: finish_reason ?? 'stop' }],
    },
    { ...head, object: CHUNK, choices: [], usage: usage ?? null },
  ]
  return toBytes(join([...chunks.map(frameOf), DONE]))
}

const CHUNK = 'chat.completion.chunk'
const DONE = ascii`data: [DONE]\n\n`

const frameOf = (chunk: JsonObject): ByteString => ascii`data: ${encodeJson(chunk)}\n\n`
