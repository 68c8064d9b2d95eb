/**
 * The golden streams: one folder a case under test/streams, with the native stream, what it bills, and what each format makes of it. Written by us in the
 * shapes of native.md "Stream". `GOLDEN=write bun test` rewrites the expected files and prints what changed.
 */

import { expect } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Model } from '../../src/core/catalog.ts'
import { picos } from '../../src/core/money.ts'
import type { Bounds } from '../../src/core/pricing.ts'
import type { RefusalName } from '../../src/core/refusal.ts'
import type { Usage } from '../../src/core/usage.ts'

const STREAMS = join(import.meta.dir, '..', 'streams')

type StreamCase = Readonly<{ name: string; folder: string; native: Uint8Array; usage: ExpectedUsage }>

/** What the case bills under `GOLDEN_BOUNDS`. `end`: 'complete', or the name of the refusal that the client is told. */
export type ExpectedUsage = Readonly<{ usage: Usage; isEstimated: boolean; stopReason: string | null; end: 'complete' | RefusalName }>

export function streamCases(): readonly StreamCase[] {
  return readdirSync(STREAMS)
    .sort()
    .map((name) => {
      const folder = join(STREAMS, name)
      return {
        name,
        folder,
        native: new Uint8Array(readFileSync(join(folder, 'native.sse'))),
        usage: JSON.parse(readFileSync(join(folder, 'usage.json'), 'utf8')) as ExpectedUsage,
      }
    })
}

/** The streams name this `upstreamModel`; clients know it as `id`. Every token costs at least one picodollar, so that nothing is free by rounding. */
export const GOLDEN_MODEL: Model = {
  id: 'stella-2',
  displayName: 'Stella 2',
  upstreamModel: 'stella-2-20260301',
  upstreams: [{ name: 'north', model: 'stella-2-20260301' }],
  isNative: true,
  chat: [],
  levels: [],
  rates: {
    input: picos(3_000_000n),
    output: picos(15_000_000n),
    cacheRead: picos(300_000n),
    cacheWrite5m: picos(3_750_000n),
    cacheWrite1h: picos(6_000_000n),
    serverToolUse: picos(0n),
  },
  contextWindow: 200_000,
  maxOutputTokens: 64_000,
  bytesPerToken: 4,
  createdSeconds: 1_772_323_200,
  rejects: new Set(),
}

/** The request that the streams answer: 400 bytes, so an estimate of its input is 100 tokens. */
export const GOLDEN_BOUNDS: Bounds = {
  bodyBytes: 400,
  hasOpaqueInput: false,
  passes: 0,
  serverToolUsesMax: 0,
  cacheWrites: 'none',
  outputTokensMax: 30_000,
  bytesPerToken: 4,
  inputEstimate: 100,
}

/** Compares with `folder/file`; with `GOLDEN=write` in the environment it is rewritten instead, and the difference printed. */
export function expectGolden(folder: string, file: string, actual: Uint8Array | string): void {
  const path = join(folder, file)
  const text = typeof actual === 'string' ? actual : Buffer.from(actual).toString('utf8')
  const known = existsSync(path) ? readFileSync(path, 'utf8') : undefined
  if (process.env['GOLDEN'] !== 'write') {
    expect(known, `${path} is missing: run with GOLDEN=write and read the difference`).toBeDefined()
    expect(text).toBe(known as string)
  } else if (text !== known) {
    console.log(`${path}\n${difference(known ?? '', text)}`)
    writeFileSync(path, text)
  }
}

/** The lines between the common beginning and the common end. */
function difference(before: string, after: string): string {
  const old = before.split('\n')
  const fresh = after.split('\n')
  let head = 0
  while (head < Math.min(old.length, fresh.length) && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, fresh.length) - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++
  const cut = (lines: string[], sign: string): string[] => lines.slice(head, lines.length - tail).map((line) => `${sign} ${line}`)
  return [`@@ line ${head + 1}`, ...cut(old, '-'), ...cut(fresh, '+')].join('\n')
}
