/**
 * What chat and responses have read, to the one native body that the upstream gets, adapted to what the model accepts, encoded once, with the bounds of its
 * price. Source: wire.md §2.4, §3.3.1, §3.4–3.7, K8, K9, K11, K12; product.md "Requests", "Money".
 */

import type { Model } from '../../catalog.ts'
import type { JsonObject } from '../../json.ts'
import type { Bounds } from '../../pricing.ts'
import { Refusal } from '../../refusal.ts'
import { checkBreakpointCount } from '../messages/cache-breakpoints.ts'
import { normalizeToolChoice, type ToolChoice } from '../messages/tool-choice.ts'
import { type Block, type CacheControl, type NativeTool, type TextBlock, type Turn, textBlock } from './block.ts'
import { cacheWritesOf, markersOf, nestedBlocks, withAutomaticMarkers, withMarkedTurn } from './caching.ts'
import { maxTokensOf } from './max-tokens.ts'
import { type Sampling, samplingFor } from './sampling.ts'
import { type ThinkingWish, thinkingFor } from './thinking.ts'
import { nativeJson } from './tool-arguments.ts'
import { checkUniqueNames } from './tool-definition.ts'
import { forbidsManualThinking, hasToolBlocks, usedToolNames } from './turns.ts'

export type Translated = Readonly<{
  isStream: boolean
  /** As the client asked; undefined takes the default. */
  maxTokens: number | undefined
  /** In order, without blank text. Joined to one string when none carries a marker. */
  system: readonly TextBlock[]
  /** Appended to the system prompt, never marked. */
  jsonHint: string | undefined
  turns: readonly Turn[]
  tools: readonly NativeTool[]
  /** As the client wrote it, in any shape. */
  toolChoice: unknown
  /** The field that a refusal of the choice names. */
  toolChoicePath: string
  parallelToolCalls: boolean | undefined
  /** Types of hosted tools that were left out: a choice of one of them means auto. */
  droppedToolTypes: readonly string[]
  thinking: ThinkingWish | undefined
  sampling: Sampling
  stopSequences: readonly string[]
  userId: string | undefined
  /** The client signalled caching: markers are set when it set none itself. */
  wishesCaching: boolean
  /** A marker for the last block of the conversation. */
  cacheControl: CacheControl | undefined
}>

export type Composed = Readonly<{ body: Uint8Array; bounds: Bounds }>

export function compose(request: Translated, model: Model): Composed | Refusal {
  const toolset = toolsFor(request, model)
  if (toolset instanceof Refusal) return toolset
  const { system, tools, turns } = withMarkers(request, toolset.tools)
  const markers = markersOf({ system, tools, turns })
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
  const body = encodeBody(
    {
      model: model.upstreamModel,
      max_tokens: maxTokens,
      ...(request.isStream ? { stream: true } : {}),
      ...samplingFor(request.sampling, model, isThinking),
      ...(request.stopSequences.length > 0 ? { stop_sequences: request.stopSequences } : {}),
      ...(request.userId === undefined ? {} : { metadata: { user_id: request.userId } }),
      ...systemField(system, request.jsonHint),
      ...(tools.length > 0 ? { tools } : {}),
      ...(toolset.choice === undefined ? {} : { tool_choice: toolset.choice }),
      ...thinking,
    },
    turns,
  )
  const bounds = {
    bodyBytes: body.byteLength,
    hasOpaqueInput: turns.some(({ content }) => content.some((block) => isOpaque(block) || nestedBlocks(block).some(isOpaque))),
    passes: 0,
    serverToolUsesMax: 0,
    cacheWrites: cacheWritesOf(markers),
    outputTokensMax: maxTokens,
    bytesPerToken: model.bytesPerToken,
  }
  return { body, bounds }
}

type Toolset = Readonly<{ tools: readonly NativeTool[]; choice: ToolChoice | undefined }>

/** Tools and choice as this model takes them. History with tool blocks needs definitions even where the client sends none (K8). */
function toolsFor(request: Translated, { rejects }: Model): Toolset | Refusal {
  const problem = checkUniqueNames(request.tools)
  if (problem !== undefined) return problem
  const normalized = normalizeToolChoice(request.toolChoice, {
    path: request.toolChoicePath,
    toolNames: request.tools.map(({ name }) => name),
    hasTools: request.tools.length > 0,
    hasImplicitTools: false,
    allowsSubset: true,
    parallelToolCalls: request.parallelToolCalls,
    canForce: !rejects.has('forced_tool_choice') && !rejects.has('tool_choice'),
    droppedToolTypes: request.droppedToolTypes,
  })
  if (normalized instanceof Refusal) return normalized
  if (rejects.has('tools')) return { tools: [], choice: undefined }
  const { choice, onlyTools } = normalized
  const kept = onlyTools === undefined ? undefined : new Set(onlyTools)
  const tools = kept === undefined ? request.tools : request.tools.filter(({ name }) => kept.has(name))
  const toolset: Toolset =
    tools.length === 0 && hasToolBlocks(request.turns)
      ? { tools: usedToolNames(request.turns).map(placeholder), choice: { type: 'none' } }
      : { tools, choice }
  return rejects.has('tool_choice') ? withoutChoice(toolset, request.turns) : toolset
}

/** A model that takes no choice can only be kept from its tools by not naming them, unless the history needs them. */
const withoutChoice = ({ tools, choice }: Toolset, turns: readonly Turn[]): Toolset => ({
  tools: choice?.type === 'none' && !hasToolBlocks(turns) ? [] : tools,
  choice: undefined,
})

const placeholder = (name: string): NativeTool => ({ name, input_schema: { type: 'object' } })

function withMarkers(request: Translated, tools: readonly NativeTool[]) {
  const { system, cacheControl } = request
  const turns = cacheControl === undefined ? request.turns : withMarkedTurn(request.turns, cacheControl, () => true)
  const isMarked = markersOf({ system, tools, turns }).length > 0
  return request.wishesCaching && !isMarked ? withAutomaticMarkers({ system, tools, turns }) : { system, tools, turns }
}

/** One string, or blocks as soon as one of them carries a marker. */
function systemField(system: readonly TextBlock[], hint: string | undefined): JsonObject {
  const blocks = hint === undefined ? system : [...system, textBlock(hint)]
  if (blocks.length === 0) return {}
  return { system: blocks.some(({ cache_control }) => cache_control !== undefined) ? blocks : blocks.map(({ text }) => text).join('\n') }
}

/** The messages are written block by block, so that the arguments of calls keep their letters. */
const encodeBody = (head: JsonObject, turns: readonly Turn[]): Uint8Array =>
  Buffer.from(`${JSON.stringify(head).slice(0, -1)},"messages":[${turns.map(turnJson).join(',')}]}`, 'utf8')

/** A turn of one plain text is a string. */
function turnJson({ role, content }: Turn): string {
  const [only, ...more] = content
  const isPlain = more.length === 0 && only?.type === 'text' && only.cache_control === undefined && Object.keys(only).length === 2
  return `{"role":"${role}","content":${isPlain ? JSON.stringify(only['text']) : `[${content.map(nativeJson).join(',')}]`}}`
}

/** Images, documents and links: their tokens are not bounded by their bytes. */
function isOpaque({ type, source }: Block): boolean {
  if (type === 'image') return true
  return type === 'document' && (source as JsonObject)['type'] !== 'text'
}
