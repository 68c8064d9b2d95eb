/** A complete native message to the response object. Rules: responses.md "Object"; translation.md "Calls", "Parity". */

import { encodeJson } from '../../bytes/byte-string.ts'
import type { Call, Stamp } from '../../format.ts'
import type { JsonObject } from '../../json.ts'
import type { NativeMessage } from '../../native/message.ts'
import type { Finished, FinishedItem } from '../../transcoder.ts'
import { exactContent } from '../translate/arguments.ts'
import { redactedJson, seal, thinkingJson } from './envelope.ts'
import {
  callIdOf,
  callItem,
  contentLiteral,
  inputText,
  itemId,
  messageItem,
  type OutputItem,
  reasoningItem,
  summaryPart,
  textPart,
  toolOf,
} from './output-items.ts'
import { bytesOf, keptBytesOf } from './pieces.ts'
import { responseObject, statusOf, suffixOf } from './response-object.ts'
import { responsesUsage } from './usage.ts'
import type { ItemStatus, ResponsesEcho } from './wire.ts'

export function respond(message: NativeMessage, call: Call<ResponsesEcho>, stamp: Stamp): Uint8Array {
  const suffix = suffixOf(message.json['id'], stamp)
  const object = responseObject(
    { id: `resp_${suffix}`, createdSeconds: stamp.createdSeconds, call },
    {
      ...statusOf(message.observation.stopReason),
      output: outputItems(message, call, suffix),
      usage: responsesUsage(message.observation, call),
    },
  )
  return bytesOf(object)
}

/** What the memory keeps of the answer that `respond` gave; undefined when the request forbade it. */
export function finishedResponse(message: NativeMessage, call: Call<ResponsesEcho>, stamp: Stamp): Finished | undefined {
  const { remembered } = call.echo
  if (remembered === undefined) return undefined
  const suffix = suffixOf(message.json['id'], stamp)
  return { responseId: `resp_${suffix}`, items: finishedItems(remembered, outputItems(message, call, suffix)) }
}

/** The items that are remembered of an answer: those of its input first. */
export const finishedItems = (input: readonly FinishedItem[], output: readonly OutputItem[]): readonly FinishedItem[] => [
  ...input,
  ...output.map(({ id, json }) => ({ id, json: keptBytesOf(json) })),
]

function outputItems(message: NativeMessage, call: Call<ResponsesEcho>, suffix: string): readonly OutputItem[] {
  const content = exactContent(message)
  const drafts = joinTexts(content)
  const last = drafts.at(-1)
  const isCutShort = last?.['type'] === 'text' || isShown(content.at(-1))
  const lastStatus = isCutShort ? statusOf(message.observation.stopReason).status : 'completed'
  const usedCallIds = new Set<string>()
  return drafts.map((block, index) =>
    outputItem(block, index, { call, suffix, usedCallIds, status: block === last ? lastStatus : 'completed' }),
  )
}

type Context = Readonly<{ call: Call<ResponsesEcho>; suffix: string; usedCallIds: Set<string>; status: ItemStatus }>

function outputItem(block: JsonObject, index: number, { call, suffix, usedCallIds, status }: Context): OutputItem {
  switch (block['type']) {
    case 'text':
      return messageItem(itemId('message', suffix, index), status, textPart([encodeJson(block['text'])]))
    case 'thinking':
      return thinkingItem(itemId('reasoning', suffix, index), block, call.model.id)
    case 'redacted_thinking':
      return reasoningItem(itemId('reasoning', suffix, index), [], seal(call.model.id, redactedJson(stringOf(block['data']))))
    default: {
      const tool = toolOf(block['name'], call.echo.tools)
      const id = itemId(tool.kind, suffix, index)
      const callId = callIdOf(block['id'], usedCallIds, suffix, index)
      return callItem({ id, callId, tool }, status, contentLiteral(tool, inputText(block['input'])))
    }
  }
}

function thinkingItem(id: string, block: JsonObject, modelId: string): OutputItem {
  const thinking = encodeJson(stringOf(block['thinking']))
  const signature = stringOf(block['signature'])
  const parts = thinking === '""' ? [] : summaryPart([thinking])
  return reasoningItem(id, parts, signature === '' ? null : seal(modelId, thinkingJson([thinking], encodeJson(signature))))
}

const SHOWN_TYPES: ReadonlySet<unknown> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use'])

const isShown = (block: JsonObject | undefined): boolean => SHOWN_TYPES.has(block?.['type'])

/** The blocks that become items; text blocks without another such block between them are joined. */
function joinTexts(content: readonly JsonObject[]): readonly JsonObject[] {
  const drafts: JsonObject[] = []
  for (const block of content) {
    if (!isShown(block)) continue
    const last = drafts.at(-1)
    if (block['type'] !== 'text') drafts.push(block)
    else if (last?.['type'] === 'text') drafts[drafts.length - 1] = { type: 'text', text: stringOf(last['text']) + stringOf(block['text']) }
    else drafts.push({ type: 'text', text: stringOf(block['text']) })
  }
  return drafts
}

export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')
