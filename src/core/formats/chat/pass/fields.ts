/**
 * Which top-level fields of a chat request are forwarded to a server of that format: those that mean the same to all such servers and do not change the price. Rules: openai.md
 * "Chat requests".
 */

import type { ChatDialect } from '../../../chat-dialect.ts'
import { isGiven, type JsonObject } from '../../../json.ts'
import { invalid, type Refusal } from '../../../refusal.ts'

const PASSED = new Set([
  'model',
  'messages',
  'stream',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'stop',
  'seed',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'reasoning_effort',
  'verbosity',
  'modalities',
  'user',
  'metadata',
])

/** Fields that choose another price, model, account or template. The operator's settings cannot pass them either. */
export const REFUSED_FIELDS = [
  'models',
  'provider',
  'plugins',
  'transforms',
  'route',
  'preset',
  'service_tier',
  'best_of',
  'web_search_options',
  'audio',
  'prediction',
  'store',
  'chat_template',
  'chat_template_kwargs',
  'lora_request',
  'adapter',
] as const
const REFUSED = new Set<string>(REFUSED_FIELDS)

/** Values at which a refused field changes nothing, so that it is allowed. */
const PLAIN_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ['auto', 'default'],
  best_of: [1],
  store: [false],
}

/** Fields that the gateway writes itself. */
export const OWN_FIELDS = ['max_tokens', 'max_completion_tokens', 'n', 'stream_options'] as const

export function checkPolicy(json: JsonObject): Refusal | undefined {
  for (const name of Object.keys(json)) {
    const value = json[name]
    if (isGiven(value) && REFUSED.has(name) && PLAIN_VALUES[name]?.includes(value) !== true)
      return invalid(name, 'is not supported by this service')
  }
  const { modalities } = json
  const isText = !isGiven(modalities) || (Array.isArray(modalities) && modalities.every((kind) => kind === 'text'))
  return isText ? undefined : invalid('modalities', 'Input should be ["text"]')
}

export const isPassed = (name: string, { dropFields, passFields }: ChatDialect): boolean =>
  (PASSED.has(name) || passFields.includes(name)) && !dropFields.includes(name)
