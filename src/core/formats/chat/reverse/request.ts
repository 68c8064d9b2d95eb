/**
 * A native request as a chat request: fields that the chat format has are translated, hints that only save work or money are left out, and any other field is
 * refused by its name. Rules: openai.md "Native requests".
 */

import { encodeJson, toBytes } from '../../../bytes/byte-string.ts'
import { parseExact } from '../../../bytes/exact-json.ts'
import type { Model } from '../../../catalog.ts'
import type { ChatBody, ChatDialect, StrictSchema } from '../../../chat-dialect.ts'
import { isGiven, isObject, type JsonObject } from '../../../json.ts'
import { invalid, Refusal } from '../../../refusal.ts'
import { answerFormat } from './answer-format.ts'
import { chatTools } from './tools.ts'
import { chatMessages } from './turns.ts'

/** A native body that was checked before. `outputTokensMax`: the cap on the answer that the hold assumes. `strictSchema`: what the body has only as a hint. */
export type NativeBody = Readonly<{ body: Uint8Array; model: Model; outputTokensMax: number; strictSchema?: StrictSchema | undefined }>

/** One body for each chat dialect of the model, in order. */
export function chatBodiesOf({ body, model, ...told }: NativeBody): readonly ChatBody[] | Refusal {
  const text = new TextDecoder().decode(body)
  // Only the inputs of calls must keep their numbers letter by letter, so a body without calls is parsed the faster way.
  const json = (text.includes('"tool_use"') ? parseExact(text) : JSON.parse(text)) as JsonObject
  const bodies: ChatBody[] = []
  for (const dialect of model.chat) {
    const chat = chatBodyOf(json, model, dialect, told)
    if (chat instanceof Refusal) return chat
    bodies.push(chat)
  }
  return bodies
}

/** The model is the first member. */
const MODEL_AT = '{"model":'.length

type Told = Omit<NativeBody, 'body' | 'model'>

function chatBodyOf(json: JsonObject, model: Model, dialect: ChatDialect, { outputTokensMax, strictSchema }: Told): ChatBody | Refusal {
  if (outputTokensMax < 1) return invalid('max_tokens', 'Input should be greater than or equal to 1')
  const unknown = Object.keys(json).find((name) => isGiven(json[name]) && !isKnown(name, dialect))
  if (unknown !== undefined) return invalid(unknown, NOT_TAKEN)
  const format = answerFormat(json, strictSchema, dialect)
  if (format instanceof Refusal) return format
  const messages = chatMessages({ ...json, system: format.system }, model, dialect)
  if (messages instanceof Refusal) return messages
  const tools = chatTools(json, model)
  if (tools instanceof Refusal) return tools
  const sampling = model.rejects.has('sampling') ? {} : samplingOf(json)
  if (isGiven(sampling['top_k']) && !dialect.passFields.includes('top_k')) return invalid('top_k', NOT_TAKEN)
  const fields: JsonObject = {
    ...(json['stream'] === true ? { stream: true, ...(dialect.streamUsage ? { stream_options: { include_usage: true } } : {}) } : {}),
    ...sampling,
    ...(Array.isArray(json['stop_sequences']) && json['stop_sequences'].length > 0 ? { stop: json['stop_sequences'] } : {}),
    ...effortOf(json, model),
    ...format.fields,
    ...tools,
    ...Object.fromEntries(dialect.passFields.filter((name) => isGiven(json[name])).map((name) => [name, json[name]])),
  }
  const kept = Object.entries(fields).filter(([name]) => !dialect.dropFields.includes(name))
  const head = { model: model.upstreamModel, [dialect.maxTokensField]: outputTokensMax, ...Object.fromEntries(kept), messages }
  return { body: toBytes(encodeJson(head)), modelAt: MODEL_AT }
}

const NOT_TAKEN = 'is not supported by this model'

/** Fields that are translated. */
const TRANSLATED = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
])
/** Fields that say how to save money or whom an answer is for; without them the answer is the same. */
const HINTS = new Set(['metadata', 'cache_control', 'context_management', 'service_tier', 'speed', 'fallbacks'])

const isKnown = (name: string, { dropFields, passFields }: ChatDialect): boolean =>
  TRANSLATED.has(name) || HINTS.has(name) || dropFields.includes(name) || passFields.includes(name)

function samplingOf({ temperature, top_p, top_k }: JsonObject): JsonObject {
  return {
    ...(isGiven(temperature) ? { temperature } : {}),
    ...(isGiven(top_p) ? { top_p } : {}),
    ...(isGiven(top_k) ? { top_k } : {}),
  }
}

/** The effort that stands for a budget of up to `tokensMax` tokens of thinking. */
const BUDGETS = [
  { effort: 'low', tokensMax: 4_096 },
  { effort: 'medium', tokensMax: 12_288 },
] as const

/** The reasoning effort, where the request asks for one and the model takes it. */
function effortOf(json: JsonObject, { rejects }: Model): JsonObject {
  if (rejects.has('effort')) return {}
  const { thinking, output_config: config } = json
  const asked = isObject(config) ? config['effort'] : undefined
  if (typeof asked === 'string') return { reasoning_effort: levelOf(asked, rejects) }
  if (!isObject(thinking) || thinking['type'] !== 'enabled' || typeof thinking['budget_tokens'] !== 'number') return {}
  const budget = thinking['budget_tokens']
  return { reasoning_effort: BUDGETS.find(({ tokensMax }) => budget <= tokensMax)?.effort ?? 'high' }
}

function levelOf(effort: string, rejects: Model['rejects']): string {
  if (effort !== 'max' && effort !== 'xhigh') return effort
  return rejects.has('xhigh_effort') ? 'high' : 'xhigh'
}
