/**
 * Translates the usage of a chat completion to native counters, once, when the answer is read, alike for all servers of the format. Chat's prompt includes
 * the tokens read from the cache and written to it; native's input does not. Rules: openai.md "Usage".
 */

import { isObject, type JsonObject } from '../../../json.ts'

/** A figure that is not a number passes as it is: `mergeUsage` judges it. Undefined where there is no usage. */
export function nativeUsage(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined
  const prompt = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {}
  const completion = isObject(usage['completion_tokens_details']) ? usage['completion_tokens_details'] : {}
  const read = firstGiven(prompt['cached_tokens'], usage['cached_tokens'], usage['prompt_cache_hit_tokens'])
  const written = firstGiven(prompt['cache_write_tokens'])
  const thinking = firstGiven(completion['reasoning_tokens'], usage['reasoning_tokens'])
  return {
    ...given('input_tokens', without(usage['prompt_tokens'], read, written)),
    ...given('output_tokens', usage['completion_tokens']),
    ...given('cache_read_input_tokens', read),
    ...given('cache_creation_input_tokens', written),
    ...creation(written, prompt['cache_write_1h_tokens']),
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
  }
}

/** The first value that is given: servers put the same figure in different places. */
const firstGiven = (...places: readonly unknown[]): unknown => places.find((place) => place !== undefined && place !== null)

const given = (name: string, value: unknown): JsonObject => (value === undefined || value === null ? {} : { [name]: value })

/** The prompt without these parts. The result may be negative, which marks figures that cannot be true. */
function without(prompt: unknown, ...parts: readonly unknown[]): unknown {
  if (typeof prompt !== 'number') return prompt
  return parts.reduce<number>((left, part) => left - (typeof part === 'number' && part > 0 ? part : 0), prompt)
}

function creation(written: unknown, oneHour: unknown): JsonObject {
  if (typeof written !== 'number' || typeof oneHour !== 'number') return {}
  return { cache_creation: { ephemeral_5m_input_tokens: written - oneHour, ephemeral_1h_input_tokens: oneHour } }
}
