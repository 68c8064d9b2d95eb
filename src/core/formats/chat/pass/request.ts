/**
 * A chat request for servers of that format: the client's own bytes, except for the fields that the gateway writes or removes. Rules: openai.md "Chat requests";
 * requests.md "Exact bytes".
 */

import { conversationOf } from '../../../affinity.ts'
import type { Body } from '../../../body.ts'
import { ascii, type ByteString, encodeJson } from '../../../bytes/byte-string.ts'
import { edited, memberEdits, placeAfter } from '../../../bytes/splice.ts'
import type { Model } from '../../../catalog.ts'
import type { ChatBody, ChatDialect } from '../../../chat-dialect.ts'
import type { Call, ReadContext } from '../../../format.ts'
import { inputEstimate } from '../../../input-estimate.ts'
import type { JsonObject } from '../../../json.ts'
import { includesCost } from '../../../native/shown-cost.ts'
import { NATIVE_VERSION } from '../../../native/versions.ts'
import { Refusal } from '../../../refusal.ts'
import { givenIds, maxTokensOf } from '../../translate/body.ts'
import { includesUsageChunk, numberOf, type Shape } from '../shape.ts'
import type { ChatEcho } from '../wire.ts'
import { checkTools, survey } from './content.ts'
import { checkPolicy, isPassed, OWN_FIELDS } from './fields.ts'

/** `shape`: the checked shape of the same body. */
export function readPassed(body: Body, shape: Shape, model: Model, context: ReadContext): Call<ChatEcho> | Refusal {
  const { json } = body
  const refused = checkPolicy(json) ?? checkTools(json['tools'])
  if (refused !== undefined) return refused
  const found = survey(shape.messages, model.rejects)
  if (found instanceof Refusal) return found
  const isStream = json['stream'] === true
  const outputTokensMax = maxTokensOf(numberOf(json['max_completion_tokens']) ?? numberOf(json['max_tokens']), isStream, model)
  const chat = model.chat.map((dialect) => passed(body, model, dialect, outputTokensMax))
  const bodyBytes = Math.max(...chat.map(({ body: { byteLength } }) => byteLength))
  return {
    model,
    isStream,
    body: new Uint8Array(),
    chat,
    routing: { conversation: conversation(json, shape, model, context), modelAt: 0 },
    bounds: {
      bodyBytes,
      hasOpaqueInput: found.isOpaque,
      passes: 0,
      serverToolUsesMax: 0,
      cacheWrites: 'none',
      outputTokensMax,
      bytesPerToken: model.bytesPerToken,
      inputEstimate: inputEstimate({ bodyBytes, media: found.media, isBounded: !found.isOpaque }, model),
    },
    version: NATIVE_VERSION,
    betas: '',
    includesCost: includesCost(context.headers),
    isStored: true,
    echo: { includesUsageChunk: includesUsageChunk(json), isLegacy: false, customTools: NO_TOOLS },
  }
}

const NO_TOOLS: ReadonlySet<string> = new Set()

const SYSTEM = new Set<unknown>(['system', 'developer'])

const conversation = (json: JsonObject, { messages }: Shape, model: Model, context: ReadContext): string =>
  conversationOf(givenIds(json, context), () => ({
    modelId: model.id,
    system: messages.filter(({ role }) => SYSTEM.has(role)).map(({ content }) => content),
    tools: json['tools'],
    firstUserTurn: messages.find(({ role }) => role === 'user'),
  }))

function passed(body: Body, model: Model, dialect: ChatDialect, outputTokensMax: number): ChatBody {
  const edits = memberEdits(body, changesOf(body, model, dialect, outputTokensMax))
  const at = body.members.findLast(({ name }) => name === 'model')?.value.start ?? 0
  return { body: edited(body.bytes, edits), modelAt: placeAfter(edits, at) }
}

/** The new values of members; undefined removes one. The gateway's own members are written behind the model's name. */
function changesOf(
  { json }: Body,
  { upstreamModel, rejects }: Model,
  dialect: ChatDialect,
  outputTokensMax: number,
): ReadonlyMap<string, ByteString | undefined> {
  const changes = new Map<string, ByteString | undefined>()
  for (const name of Object.keys(json)) if (!isPassed(name, dialect)) changes.set(name, undefined)
  for (const name of OWN_FIELDS) changes.set(name, undefined)
  // Without tools a tool choice is removed: servers refuse it.
  const hasTools = hasAny(json['tools']) || hasAny(json['functions'])
  if (!hasTools) for (const name of CHOICES) changes.set(name, undefined)
  if (rejects.has('parallel_tools')) changes.set('parallel_tool_calls', undefined)
  if (rejects.has('sampling')) for (const name of SAMPLING) changes.set(name, undefined)
  if (rejects.has('effort')) changes.set('reasoning_effort', undefined)
  const cap = ascii`${encodeJson(upstreamModel)},${encodeJson(dialect.maxTokensField)}:${outputTokensMax}`
  const usage = json['stream'] === true && dialect.streamUsage ? ASKS_USAGE : NOTHING
  changes.set('model', ascii`${cap}${usage}`)
  return changes
}

const NOTHING = ascii``
const ASKS_USAGE = ascii`,"stream_options":{"include_usage":true}`
const CHOICES = ['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call']
const SAMPLING = ['temperature', 'top_p', 'top_k']

const hasAny = (list: unknown): boolean => Array.isArray(list) && list.length > 0
