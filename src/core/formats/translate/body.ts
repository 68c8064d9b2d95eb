/**
 * Makes the native body of a chat or responses request: adapted to what the model accepts, encoded once, with the bounds of its
 * price. Rules: money.md "Holds"; native.md "What native refuses", "What models refuse"; translation.md "System prompt", "Output cap", "Sampling", "User ids".
 */

import { type GivenIds, SESSION_HEADER } from '../../affinity.ts'
import { utf8Bytes } from '../../bytes/byte-string.ts'
import type { Model } from '../../catalog.ts'
import type { ReadContext, Sha256Hex } from '../../format.ts'
import { addMedia, inputEstimate, type Media, mediaOf, NO_MEDIA } from '../../input-estimate.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { checkBreakpointCount } from '../../native/cache-breakpoints.ts'
import { append, type Block, type CacheControl, type NativeTool, type TextBlock, type Turn, textBlock } from '../../native/shapes.ts'
import type { Bounds } from '../../pricing.ts'
import { Refusal } from '../../refusal.ts'
import { hasRawInput, nativeJson } from './arguments.ts'
import { cacheWritesOf, type Markable, markersOf, nestedBlocks, withAutomaticMarkers, withMarkedTurn } from './caching.ts'
import { type ThinkingWish, thinkingFor } from './thinking.ts'
import { type ToolWish, toolsFor } from './tools.ts'
import { forbidsManualThinking } from './turns.ts'

export type Translated = ToolWish &
  Readonly<{
    isStream: boolean
    /** The cap that the client asked for; undefined: the default. */
    maxTokens: number | undefined
    /** The blocks of the system prompt in order, without blank text. They become one string when none carries a marker. */
    system: readonly TextBlock[]
    /** A text that is appended to the system prompt and never gets a marker. */
    jsonHint: string | undefined
    turns: readonly Turn[]
    thinking: ThinkingWish | undefined
    sampling: Sampling
    stopSequences: readonly string[]
    userId: string | undefined
    /** The client asked for caching: markers are set where the client set none. */
    wishesCaching: boolean
    /** A marker for the last block of the conversation. */
    cacheControl: CacheControl | undefined
  }>

/** `modelAt`: where the model's name begins in `body`. */
export type Composed = Readonly<{ body: Uint8Array; bounds: Bounds; modelAt: number; thinkingTokens: number | undefined }>

/** The model is the first member of every body. */
const MODEL_AT = '{"model":'.length

export function compose(request: Translated, model: Model): Composed | Refusal {
  const found = survey(request.turns)
  const toolset = toolsFor(request, model, { turns: request.turns, hasTools: found.hasTools })
  if (toolset instanceof Refusal) return toolset
  const { system, tools, turns, markers } = withMarkers(request, toolset.tools, found.markers)
  const tooMany = checkBreakpointCount(markers.length)
  if (tooMany !== undefined) return tooMany

  const maxTokens = maxTokensOf(request.maxTokens, request.isStream, model)
  const thinking = thinkingFor(request.thinking, {
    model,
    maxTokens,
    isForced: toolset.choice?.type === 'any' || toolset.choice?.type === 'tool',
    forbidsManual: forbidsManualThinking(turns),
  })
  const isThinking = thinking.thinking?.type === 'enabled' || thinking.thinking?.type === 'adaptive'
  // Assigned field by field: a spread for each optional field would copy the head each time.
  const head: NativeHead = { model: model.upstreamModel, max_tokens: maxTokens }
  if (request.isStream) head['stream'] = true
  if (!model.rejects.has('sampling') && !isThinking) addSampling(head, request.sampling)
  if (request.stopSequences.length > 0) head['stop_sequences'] = request.stopSequences
  if (request.userId !== undefined) head['metadata'] = { user_id: request.userId }
  addSystem(head, system, request.jsonHint)
  if (tools.length > 0) head['tools'] = tools
  if (toolset.choice !== undefined) head['tool_choice'] = toolset.choice
  if (request.thinking !== undefined) Object.assign(head, thinking)
  const body = encodeBody(head, turns)
  const bounds = {
    bodyBytes: body.byteLength,
    hasOpaqueInput: found.isOpaque,
    passes: 0,
    serverToolUsesMax: 0,
    cacheWrites: cacheWritesOf(markers),
    outputTokensMax: maxTokens,
    bytesPerToken: model.bytesPerToken,
    inputEstimate: inputEstimate({ bodyBytes: body.byteLength, media: found.media, isBounded: !found.isOpaque }, model),
  }
  return { body, bounds, modelAt: MODEL_AT, thinkingTokens: thinking.thinking?.budget_tokens }
}

type NativeHead = Record<string, unknown>

type Survey = Readonly<{ hasTools: boolean; isOpaque: boolean; media: Media; markers: readonly CacheControl[] }>

/** Finds all that price and tools depend on in one walk: a body may hold a quarter of a million blocks, and each walk fetches them all from memory. */
function survey(turns: readonly Turn[]): Survey {
  let hasTools = false
  let hasOpaque = false
  let media = NO_MEDIA
  const markers: CacheControl[] = []
  for (const { content } of turns) {
    if (typeof content === 'string') continue
    for (const block of content) {
      const { type, cache_control } = block
      if (cache_control !== undefined) markers.push(cache_control)
      if (type === 'text') continue
      if (type === 'tool_use' || type === 'tool_result') hasTools = true
      if (type === 'tool_result') append(markers, markersOf(nestedBlocks(block)))
      if (!isOpaque(block)) continue
      hasOpaque = true
      for (const part of [block, ...nestedBlocks(block)]) media = addMedia(media, mediaOf(part))
    }
  }
  return { hasTools, isOpaque: hasOpaque, media, markers }
}

/** `markers`: the markers that the client set on the blocks of the turns. */
function withMarkers(request: Translated, tools: readonly NativeTool[], markers: readonly CacheControl[]): Marked {
  const { system, turns, cacheControl, wishesCaching } = request
  const isBare = tools.length === 0 && system.length === 0
  const own = isBare ? markers : [...markersOf(tools), ...markersOf(system), ...markers]
  if (cacheControl === undefined && (own.length > 0 || !wishesCaching)) return { system, tools, turns, markers: own }
  const marked =
    cacheControl === undefined
      ? withAutomaticMarkers({ system, tools, turns })
      : { system, tools, turns: withMarkedTurn(turns, cacheControl, () => true) }
  return { ...marked, markers: [...markersOf(marked.tools), ...markersOf(marked.system), ...survey(marked.turns).markers] }
}

type Marked = Markable & Readonly<{ markers: readonly CacheControl[] }>

/** Adds the system prompt: one string, or blocks where one of them carries a marker. */
function addSystem(head: NativeHead, system: readonly TextBlock[], hint: string | undefined): void {
  const blocks = hint === undefined ? system : [...system, textBlock(hint)]
  if (blocks.length === 0) return
  const isMarked = blocks.some(({ cache_control }) => cache_control !== undefined)
  head['system'] = isMarked ? blocks : blocks.map(({ text }) => text).join('\n')
}

/** Writes many messages at once, but block by block where a call's arguments must keep their letters. */
function encodeBody(head: NativeHead, turns: readonly Turn[]): Uint8Array {
  let written = ''
  let plain: Turn[] = []
  // The text grows by `+` and not by `join`: the engine then copies a large text only once, when it is encoded.
  const write = (json: string): void => {
    written += written === '' ? json : `,${json}`
  }
  const writePlain = (): void => {
    if (plain.length > 0) write(JSON.stringify(plain).slice(1, -1))
    plain = []
  }
  for (const turn of turns) {
    if (typeof turn.content === 'string' || !turn.content.some(hasRawInput)) {
      plain.push(plainTurn(turn))
      continue
    }
    writePlain()
    write(`{"role":"${turn.role}","content":[`)
    turn.content.forEach((block, index) => {
      written += index === 0 ? nativeJson(block) : `,${nativeJson(block)}`
    })
    written += ']}'
  }
  if (written === '') {
    head['messages'] = plain
    return utf8Bytes(JSON.stringify(head))
  }
  writePlain()
  return utf8Bytes(`${JSON.stringify(head).slice(0, -1)},"messages":[${written}]}`)
}

/** A turn of one plain text is a string. */
function plainTurn(turn: Turn): Turn {
  const { role, content } = turn
  const only = content.length === 1 ? content[0] : undefined
  return typeof only === 'object' && isPlainText(only) ? { role, content: String(only['text']) } : turn
}

/** A text block of a translation has no fields but `type`, `text` and `cache_control`. */
const isPlainText = ({ type, cache_control }: Block): boolean => type === 'text' && cache_control === undefined

/** Images, documents and links, inside tool results too: their bytes do not bound their tokens. */
function isOpaque(block: Block): boolean {
  const { type, source } = block
  if (type === 'image') return true
  if (type === 'tool_result') return nestedBlocks(block).some(isOpaque)
  return type === 'document' && (source as JsonObject)['type'] !== 'text'
}

/** The default output caps. A stream may run ten minutes, a complete answer must start within six: contract.md "Limits". */
const DEFAULT_STREAM = 32_000
const DEFAULT_COMPLETE = 16_000

export const maxTokensOf = (asked: number | undefined, isStream: boolean, model: { maxOutputTokens: number }): number =>
  Math.min(asked ?? (isStream ? DEFAULT_STREAM : DEFAULT_COMPLETE), model.maxOutputTokens)

type Sampling = Readonly<{ temperature: number | undefined; topP: number | undefined; topK: number | undefined }>

/** Leaves sampling out for a model that rejects it, and while the model thinks. Several models refuse temperature beside top_p: the one that changes less is left out. */
function addSampling(head: NativeHead, wish: Sampling): void {
  const temperature = wish.temperature === undefined ? undefined : Math.min(1, wish.temperature)
  const hasBoth = temperature !== undefined && wish.topP !== undefined
  const keepsTopP = !hasBoth || (temperature === 1 && wish.topP < 1)
  if (temperature !== undefined && !(hasBoth && keepsTopP)) head['temperature'] = temperature
  if (wish.topP !== undefined && keepsTopP) head['top_p'] = wish.topP
  if (wish.topK !== undefined) head['top_k'] = wish.topK
}

/** Both translated formats name a conversation in the same fields. */
export const givenIds = (json: JsonObject, { headers }: Pick<ReadContext, 'headers'>): GivenIds => ({
  userId: isObject(json['metadata']) ? json['metadata']['user_id'] : undefined,
  promptCacheKey: json['prompt_cache_key'],
  sessionHeader: headers.get(SESSION_HEADER),
})

const USER_ID_LENGTH_MAX = 256

/** The first candidate that is a string and not blank; one that is longer than native allows becomes its SHA-256 in hex. */
export function userIdOf(sha256Hex: Sha256Hex, ...candidates: readonly unknown[]): string | undefined {
  for (const id of candidates) {
    if (typeof id === 'string' && id.trim() !== '') return id.length <= USER_ID_LENGTH_MAX ? id : sha256Hex(id)
  }
  return undefined
}
