/** How servers of the chat format differ: how each writes a chunk, and the usage. Rules: openai.md "Chunks", "Usage"; faults.md "Simulator". */

import { isObject, type JsonObject } from '../core/json.ts'

export const CHAT_DIALECTS = ['openai', 'vllm', 'llamacpp', 'kimi', 'deepseek', 'openrouter', 'minimax', 'bedrock'] as const
export type ChatDialectName = (typeof CHAT_DIALECTS)[number]

type Mutable = Record<string, unknown>

/** A chunk, or a whole completion, as this server writes it; undefined: the server sends no such chunk. `number`: how many chunks came before. */
export function inDialect(name: ChatDialectName, chunk: JsonObject, number: number): JsonObject | undefined {
  const plain: Mutable = { ...chunk }
  const usage = isObject(chunk['usage']) ? chunk['usage'] : undefined
  const said = choicesOf(chunk)
  switch (name) {
    case 'openai':
      return {
        ...plain,
        usage: usage ?? null,
        service_tier: 'default',
        system_fingerprint: 'fp_sim',
        obfuscation: 'x'.repeat(1 + (number % 7)),
      }
    case 'vllm':
      return {
        ...plain,
        choices: said.map((choice) => (choice['finish_reason'] === 'tool_calls' ? { ...choice, finish_reason: 'stop' } : choice)),
      }
    case 'llamacpp':
      return {
        choices: plain['choices'],
        created: plain['created'],
        id: plain['id'],
        model: plain['model'],
        system_fingerprint: 'b1',
        ...plain,
      }
    case 'kimi':
      return usage === undefined ? plain : { ...plain, usage: { ...counted(usage), cached_tokens: cachedOf(usage) } }
    case 'deepseek':
      return { ...plain, choices: said.map(withNulls), ...(usage === undefined ? {} : { usage: hits(usage) }) }
    case 'openrouter':
      return {
        ...plain,
        provider: 'Simulated',
        choices: said.map(withReasoning),
        ...(usage === undefined ? {} : { usage: { ...usage, cost: 0.0001, is_byok: false } }),
      }
    case 'minimax':
      return { ...plain, usage: usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }
    case 'bedrock':
      if (usage !== undefined && said.length === 0) return undefined
      return { ...plain, usage: undefined }
  }
}

/** The text that this server writes before each event. */
export const betweenEvents = (name: ChatDialectName | undefined): string => (name === 'openrouter' ? ': OPENROUTER PROCESSING\n\n' : '')

const choicesOf = ({ choices }: JsonObject): readonly Mutable[] => (Array.isArray(choices) ? choices.filter(isObject) : [])

const counted = ({ prompt_tokens, completion_tokens, total_tokens }: JsonObject): JsonObject => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
})

const cachedOf = ({ prompt_tokens_details: details }: JsonObject): unknown => (isObject(details) ? details['cached_tokens'] : 0)

function hits(usage: JsonObject): JsonObject {
  const hit = Number(cachedOf(usage))
  const { completion_tokens_details } = usage
  return {
    ...counted(usage),
    prompt_cache_hit_tokens: hit,
    prompt_cache_miss_tokens: Number(usage['prompt_tokens']) - hit,
    completion_tokens_details,
  }
}

/** Where a delta has only content or only reasoning, adds the other as null. */
function withNulls(choice: Mutable): Mutable {
  const { delta } = choice
  if (!isObject(delta)) return choice
  if (typeof delta['reasoning_content'] === 'string') return { ...choice, delta: { ...delta, content: null } }
  return typeof delta['content'] === 'string' ? { ...choice, delta: { ...delta, reasoning_content: null } } : choice
}

function withReasoning(choice: Mutable): Mutable {
  const [place, said] = isObject(choice['delta']) ? ['delta', choice['delta']] : ['message', choice['message']]
  if (!isObject(said) || typeof said['reasoning_content'] !== 'string') return { ...choice, native_finish_reason: choice['finish_reason'] }
  const { reasoning_content: reasoning, ...rest } = said
  const details = [{ type: 'reasoning.text', text: reasoning, format: 'simulated', index: 0 }]
  return {
    ...choice,
    native_finish_reason: choice['finish_reason'],
    [place as string]: { content: '', ...rest, reasoning, reasoning_details: details },
  }
}
