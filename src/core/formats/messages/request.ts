/**
 * A messages request, passed through: validated, its `model` and `tool_choice` spliced where they differ, every other byte as the client sent it.
 * Rules: contract.md "Messages request"; messages.md "Pass-through".
 */

import { conversationOf, isUserTurn, SESSION_HEADER } from '../../affinity.ts'
import type { Body } from '../../body.ts'
import { type ByteString, encodeJson } from '../../bytes/byte-string.ts'
import { edited, memberEdits, placeAfter } from '../../bytes/splice.ts'
import type { Model } from '../../catalog.ts'
import type { Call, ReadContext } from '../../format.ts'
import { isGiven, isObject, type JsonObject } from '../../json.ts'
import { readCacheBreakpoints } from '../../native/cache-breakpoints.ts'
import { blocksOf } from '../../native/request-blocks.ts'
import { includesCost } from '../../native/shown-cost.ts'
import type { NormalizedToolChoice } from '../../native/tool-choice.ts'
import { readHeaders } from '../../native/versions.ts'
import { modelUnavailable, Refusal } from '../../refusal.ts'
import { boundsOf } from './bounds.ts'
import { checkFieldPolicy } from './field-policy.ts'
import { checkAnswerShape, checkShape } from './shape.ts'
import { isKept, keptTools, readToolChoice } from './tools.ts'

/** The answer needs nothing of the request but its model. */
export type MessagesEcho = undefined

export const readMessages = (body: Body, context: ReadContext): Call<MessagesEcho> | Refusal =>
  checkShape(body.json) ?? checkAnswerShape(body.json) ?? readShaped(body, context)

/** Reads a body whose shape was checked. */
export function readShaped(body: Body, context: ReadContext): Call<MessagesEcho> | Refusal {
  const { json } = body
  const blocks = blocksOf(json)
  const cacheWrites = readCacheBreakpoints(json, blocks)
  if (cacheWrites instanceof Refusal) return cacheWrites
  const refused = checkFieldPolicy(json, blocks)
  if (refused !== undefined) return refused
  const modelId = String(json['model'])
  const model = context.find(modelId)
  if (model === undefined) return modelUnavailable(modelId)
  const headers = readHeaders(context.headers, model)
  if (headers instanceof Refusal) return headers
  const toolChoice = readToolChoice(json, blocks, model)
  if (toolChoice instanceof Refusal) return toolChoice
  const edits = memberEdits(body, changesOf(body, model, toolChoice))
  const native = edited(body.bytes, edits)
  return {
    model,
    isStream: json['stream'] === true,
    body: native,
    routing: { conversation: conversation(json, context), modelAt: placeAfter(edits, startOfModel(body)) },
    bounds: boundsOf(json, blocks, model, { bodyBytes: native.byteLength, cacheWrites }),
    thinkingTokens: thinkingTokensOf(json['thinking']),
    ...headers,
    includesCost: includesCost(context.headers),
    isStored: true,
    echo: undefined,
  }
}

/** The upstream judges all else that may stand there. */
const thinkingTokensOf = (thinking: unknown): number | undefined =>
  isObject(thinking) && thinking['type'] === 'enabled' && typeof thinking['budget_tokens'] === 'number'
    ? thinking['budget_tokens']
    : undefined

/** Where the value of `model` begins; of a repeated name the last one counts. */
const startOfModel = ({ members }: Body): number => members.findLast(({ name }) => name === 'model')?.value.start ?? 0

const conversation = (json: JsonObject, { headers }: ReadContext): string =>
  conversationOf(
    { userId: isObject(json['metadata']) ? json['metadata']['user_id'] : undefined, sessionHeader: headers.get(SESSION_HEADER) },
    () => ({
      modelId: String(json['model']),
      system: json['system'],
      tools: json['tools'],
      firstUserTurn: Array.isArray(json['messages']) ? json['messages'].find(isUserTurn) : undefined,
    }),
  )

/** The new values of members that the upstream must get in another form than the client wrote; undefined removes one. */
function changesOf(body: Body, model: Model, { choice, onlyTools }: NormalizedToolChoice): ReadonlyMap<string, ByteString | undefined> {
  const { json } = body
  const changes = new Map<string, ByteString | undefined>()
  if (json['model'] !== model.upstreamModel) changes.set('model', encodeJson(model.upstreamModel))
  if (choice === undefined ? 'tool_choice' in json : !isSame(json['tool_choice'], choice))
    changes.set('tool_choice', choice === undefined ? undefined : encodeJson(choice))
  if (onlyTools !== undefined && Array.isArray(json['tools']) && json['tools'].some((tool) => !isKept(tool, onlyTools)))
    changes.set('tools', keptTools(body, onlyTools))
  return changes
}

/** Whether both are equal but for the order of members. A null member and an absent one differ. */
function isSame(given: unknown, choice: JsonObject): boolean {
  if (!isObject(given)) return false
  const names = Object.keys(choice)
  return names.length === Object.keys(given).length && names.every((name) => isGiven(given[name]) && given[name] === choice[name])
}
