/** Cache breakpoints: at most four, all ephemeral, wherever they stand. Rules: contract.md "Prompt caching", "Limits"; messages.md "Refused fields". */

import { isGiven, isObject, type JsonObject } from '../json.ts'
import { CACHE_BREAKPOINTS_MAX } from '../limits.ts'
import type { Bounds } from '../pricing.ts'
import { invalid, Refusal } from '../refusal.ts'
import type { PlacedBlock } from './request-blocks.ts'

type Marker = Readonly<{ path: () => string; value: unknown }>

/** The dearest cache write that the markers on tools, blocks and the body itself ask for. */
export function readCacheBreakpoints(json: JsonObject, blocks: readonly PlacedBlock[]): Bounds['cacheWrites'] | Refusal {
  const markers = markersOf(json, blocks)
  for (const { path, value } of markers) {
    if (!isObject(value)) return invalid(path(), 'Input should be an object with the type "ephemeral"')
    if (value['type'] !== 'ephemeral') return invalid(`${path()}.type`, 'Input should be "ephemeral"')
  }
  const tooMany = checkBreakpointCount(markers.length)
  if (tooMany instanceof Refusal) return tooMany
  if (markers.length === 0) return 'none'
  return markers.every(({ value }) => isShort(value)) ? '5m' : '1h'
}

/** Undefined when the request may have so many breakpoints. */
export const checkBreakpointCount = (found: number): Refusal | undefined =>
  found <= CACHE_BREAKPOINTS_MAX
    ? undefined
    : invalid('cache_control', `A maximum of ${CACHE_BREAKPOINTS_MAX} blocks with cache_control may be provided. Found ${found}.`)

function markersOf(json: JsonObject, blocks: readonly PlacedBlock[]): readonly Marker[] {
  const markers: Marker[] = []
  const add = ({ cache_control: value }: JsonObject, path: () => string): void => {
    if (isGiven(value)) markers.push({ path, value })
  }
  add(json, () => 'cache_control')
  const tools: readonly unknown[] = Array.isArray(json['tools']) ? json['tools'] : []
  for (const [index, tool] of tools.entries()) if (isObject(tool)) add(tool, () => `tools.${index}.cache_control`)
  for (const { path, block } of blocks) add(block, () => `${path()}.cache_control`)
  return markers
}

/** Five minutes is the vendor's default; for an unknown lifetime the hold assumes the dearest. */
const isShort = (marker: unknown): boolean => isObject(marker) && (!isGiven(marker['ttl']) || marker['ttl'] === '5m')
