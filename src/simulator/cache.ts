/**
 * The prompt cache: the prompt up to a `cache_control` marker is written once, and read from the cache while it lives; `usage` shows both. A prefix that was written is
 * found again wherever the markers of the next request stand. Rules: contract.md "Prompt caching"; native.md "What native refuses", "Usage".
 */

import { boundedMap } from '../core/bounded-map.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { CACHE_BREAKPOINTS_MAX } from '../core/limits.ts'
import { Problem } from './native-error.ts'
import type { NativeRequest } from './request.ts'
import type { Seed } from './seed.ts'
import { tokensOfBlock } from './tokens.ts'

/** Input tokens by class; the sum of the classes is the whole prompt. */
export type InputTokens = Readonly<{ fresh: number; read: number; written5m: number; written1h: number }>

interface PromptCache {
  /** Counts a prompt, and remembers its marked prefixes. */
  use(request: NativeRequest): InputTokens | Problem
}

type Ttl = '5m' | '1h'

const TTL_MS: Readonly<Record<Ttl, number>> = { '5m': 300_000, '1h': 3_600_000 }
const PREFIXES_MAX = 10_000
/** The tokens that a native upstream adds around the prompt. */
const OVERHEAD_TOKENS = 3

export function makePromptCache(seed: Seed, nowMs: () => number): PromptCache {
  const expiries = boundedMap<number>(PREFIXES_MAX)
  const isCached = (prefix: string): boolean => (expiries.get(prefix) ?? 0) > nowMs()
  return {
    use(request) {
      const prefixes = readPrefixes(request, seed)
      const marked = prefixes.filter(({ ttl }) => ttl !== undefined)
      if (marked.length > CACHE_BREAKPOINTS_MAX)
        return new Problem(400, `cache_control: at most ${CACHE_BREAKPOINTS_MAX} blocks may carry it, found ${marked.length}`)
      const whole = prefixes.at(-1)?.tokens ?? 0
      const lastMark = prefixes.findLastIndex(({ ttl }) => ttl !== undefined)
      const read = prefixes.slice(0, lastMark + 1).findLast(({ hash }) => isCached(hash))?.tokens ?? 0
      let end = read
      const written: Record<Ttl, number> = { '5m': 0, '1h': 0 }
      for (const { hash, tokens, ttl } of marked) {
        if (ttl === undefined) continue
        expiries.set(hash, Math.max(nowMs() + TTL_MS[ttl], expiries.get(hash) ?? 0))
        written[ttl] += Math.max(0, tokens - end)
        end = Math.max(end, tokens)
      }
      return { fresh: OVERHEAD_TOKENS + whole - end, read, written5m: written['5m'], written1h: written['1h'] }
    },
  }
}

/** All tokens of a prompt, cached or not. */
export const promptTokens = (request: NativeRequest): number =>
  promptBlocks(request).reduce((sum, { block }) => sum + tokensOfBlock(block), OVERHEAD_TOKENS)

/** The prompt up to and including a block: its hash, its tokens, and the lifetime if the block carries a marker. */
type Prefix = Readonly<{ hash: string; tokens: number; ttl: Ttl | undefined }>

function readPrefixes(request: NativeRequest, seed: Seed): readonly Prefix[] {
  const blocks = promptBlocks(request)
  let hash = seed.hash('model', request.model)
  let tokens = 0
  return blocks.map(({ place, block }, index) => {
    hash = seed.hash(hash, place, JSON.stringify(block, withoutMarkers))
    tokens += tokensOfBlock(block)
    const isLast = index === blocks.length - 1
    return { hash, tokens, ttl: markerTtl(block) ?? (isLast ? ttlOf(request.cacheControl) : undefined) }
  })
}

/** The blocks of the prompt in the order in which a native upstream caches them: tools, system, messages. */
const promptBlocks = (request: NativeRequest): readonly { place: string; block: JsonObject }[] => [
  ...request.tools.map((block) => ({ place: 'tool', block })),
  ...request.system.map((block) => ({ place: 'system', block })),
  ...request.messages.flatMap(({ role, blocks }) => blocks.map((block) => ({ place: role, block }))),
]

/** The marker of the block, else of a block inside it, as tool results have them. */
function markerTtl(block: JsonObject): Ttl | undefined {
  const inner = Array.isArray(block['content']) ? block['content'].filter(isObject) : []
  return ttlOf(block['cache_control']) ?? inner.map(({ cache_control }) => ttlOf(cache_control)).find((ttl) => ttl !== undefined)
}

function ttlOf(marker: unknown): Ttl | undefined {
  if (!isObject(marker) || marker['type'] !== 'ephemeral') return undefined
  return marker['ttl'] === '1h' ? '1h' : '5m'
}

const withoutMarkers = (name: string, value: unknown): unknown => (name === 'cache_control' ? undefined : value)
