/**
 * Prompt cache markers: read from the client, counted, and set when a client signals caching without marking.
 * Rules: contract.md "Limits"; translation.md "Caching".
 */

import { isGiven, isObject, type JsonObject } from '../../json.ts'
import { type Block, blocksOf, type CacheControl, type NativeTool, type TextBlock, type Turn } from '../../native/shapes.ts'
import type { Bounds } from '../../pricing.ts'
import { invalid, type Refusal } from '../../refusal.ts'

const EPHEMERAL: CacheControl = { type: 'ephemeral' }

/** A `cache_control` reduced to what native knows; undefined when not given. Another type or time to live is refused: it would change the price. */
export function readCacheControl(value: unknown, path: string): CacheControl | undefined | Refusal {
  if (!isGiven(value)) return undefined
  if (!isObject(value) || value['type'] !== 'ephemeral') return invalid(path, 'Input should be {"type":"ephemeral"}')
  const ttl = value['ttl']
  if (!isGiven(ttl)) return EPHEMERAL
  return ttl === '5m' || ttl === '1h' ? { type: 'ephemeral', ttl } : invalid(`${path}.ttl`, 'Input should be 5m or 1h')
}

/** A part's marker: `cache_control`, or `prompt_cache_breakpoint: {"mode":"explicit"}`. */
export function readPartMarker(part: JsonObject, path: () => string): CacheControl | undefined | Refusal {
  const own = part['cache_control']
  const marker = isGiven(own) ? readCacheControl(own, `${path()}.cache_control`) : undefined
  if (marker !== undefined) return marker
  const breakpoint = part['prompt_cache_breakpoint']
  return isObject(breakpoint) && breakpoint['mode'] === 'explicit' ? EPHEMERAL : undefined
}

/** True when a client asks for caching without markers, by one of the `prompt_cache_*` fields. Nothing else counts as such a wish, since cache writes cost more. */
export const wishesCaching = (body: JsonObject): boolean =>
  ['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'].some((name) => isGiven(body[name]))

/** The parts of a request that carry markers. */
export type Markable = Readonly<{ system: readonly TextBlock[]; tools: readonly NativeTool[]; turns: readonly Turn[] }>

type Carrier = Readonly<{ cache_control?: CacheControl }>

/** The markers of some blocks or tools, in order. */
export function markersOf(items: readonly Carrier[]): CacheControl[] {
  const markers: CacheControl[] = []
  for (const { cache_control } of items) if (cache_control !== undefined) markers.push(cache_control)
  return markers
}

/** Blocks inside a tool result. */
export const nestedBlocks = (block: Block): readonly Block[] =>
  block.type === 'tool_result' && Array.isArray(block['content']) ? (block['content'] as readonly Block[]) : NONE

const NONE: readonly Block[] = []

/** Sets two markers: one on the last system block or, without a system prompt, on the last tool; one on the last block of the last user turn. */
export function withAutomaticMarkers({ system, tools, turns }: Markable): Markable {
  return {
    system: withMarkedLast(system, EPHEMERAL),
    tools: system.length > 0 ? tools : withMarkedLast(tools, EPHEMERAL),
    turns: withMarkedTurn(turns, EPHEMERAL, (turn) => turn.role === 'user'),
  }
}

/** Sets a marker on the last block of the last turn for which `fits` is true. */
export function withMarkedTurn(turns: readonly Turn[], marker: CacheControl, fits: (turn: Turn) => boolean): readonly Turn[] {
  const at = turns.findLastIndex(fits)
  return turns.map((turn, index) => (index === at ? { ...turn, content: withMarkedLast(blocksOf(turn.content), marker) } : turn))
}

/** The dearest cache write that the markers ask for. */
export function cacheWritesOf(markers: readonly CacheControl[]): Bounds['cacheWrites'] {
  if (markers.length === 0) return 'none'
  return markers.some(({ ttl }) => ttl === '1h') ? '1h' : '5m'
}

function withMarkedLast<T extends { readonly cache_control?: CacheControl }>(items: readonly T[], marker: CacheControl): readonly T[] {
  return items.map((item, index) =>
    index === items.length - 1 && item.cache_control === undefined ? { ...item, cache_control: marker } : item,
  )
}
