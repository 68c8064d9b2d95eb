import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { addUsage, billedUsage, isReported, mergeUsage, NO_USAGE, NOT_REPORTED, type ReportedUsage } from '../../src/core/usage.ts'

const merged = (...usages: unknown[]): ReportedUsage => usages.reduce<ReportedUsage>(mergeUsage, NOT_REPORTED)

describe('usage merged over a stream', () => {
  test('the newest figure wins and is never added', () => {
    expect(merged({ input_tokens: 43, output_tokens: 1 }, { input_tokens: 61, output_tokens: 2 })).toMatchObject({ input: 61, output: 2 })
    expect(merged({ output_tokens: 9 }, { output_tokens: 4 }).output).toBe(4)
  })

  test('a later 0 does not replace what was positive, absent and null change nothing', () => {
    for (const later of [{ input_tokens: 0 }, { input_tokens: null }, {}, null, undefined, 'x', []])
      expect(merged({ input_tokens: 100, output_tokens: 1 }, later)).toMatchObject({ input: 100, output: 1 })
    expect(merged({ input_tokens: 0 }, { input_tokens: 7 }).input).toBe(7)
  })

  test('for any sequence of counts the result is the last positive one, else 0', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(5)), { minLength: 1 }), (counts) => {
        const { input } = merged(...counts.map((count) => ({ input_tokens: count })))
        const given = counts.filter((count) => count !== null)
        expect(input).toBe(given.findLast((count) => count > 0) ?? (given.length > 0 ? 0 : undefined))
      }),
    )
  })

  test('what cannot be a count is ignored and noted', () => {
    for (const absurd of [-1, 1.5, 2 ** 31, 1e300, '5', {}, true, Number.NaN]) {
      const reported = merged({ input_tokens: 3, output_tokens: 4 }, { output_tokens: absurd })
      expect(reported).toMatchObject({ input: 3, output: 4, absurd: true })
    }
    expect(merged({ input_tokens: 3 }).absurd).toBe(false)
  })

  test('whatever arrives, what is billed is whole and not negative', () => {
    const names = fc.constantFrom('input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'iterations')
    const parts = fc.dictionary(
      fc.constantFrom('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens', 'web_search_requests'),
      fc.jsonValue(),
    )
    const usage = fc.tuple(fc.dictionary(names, fc.oneof(fc.integer(), fc.jsonValue())), parts).map(([counters, details]) => ({
      ...counters,
      cache_creation: details,
      server_tool_use: details,
    }))
    fc.assert(
      fc.property(fc.array(fc.oneof(usage, fc.jsonValue())), (usages) => {
        for (const count of Object.values(billedUsage(merged(...usages)))) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      }),
    )
  })
})

describe('what is billed', () => {
  const writes = (usage: object) => {
    const { cacheWrite5m, cacheWrite1h } = billedUsage(merged(usage))
    return [cacheWrite5m, cacheWrite1h]
  }
  const split = (fiveMinutes: number, oneHour: number) => ({
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
  })

  test("cache writes follow the vendor's split; without it all are 5 m; the total wins over its parts", () => {
    expect(writes({ cache_creation_input_tokens: 700 })).toEqual([700, 0])
    expect(writes({ cache_creation_input_tokens: 700, ...split(300, 400) })).toEqual([300, 400])
    expect(writes({ cache_creation_input_tokens: 700, ...split(0, 400) })).toEqual([300, 400])
    expect(writes({ cache_creation_input_tokens: 100, ...split(0, 400) })).toEqual([0, 100])
    expect(writes(split(3, 4))).toEqual([3, 4])
  })

  test('hidden iterations are added, visible ones are not counted twice, the newest list replaces the older', () => {
    const compaction = { type: 'compaction', input_tokens: 5000, output_tokens: 200, cache_read_input_tokens: 40 }
    const advisor = { type: 'advisor_message', input_tokens: 10, output_tokens: 20, ...split(1, 2) }
    const visible = { type: 'message', input_tokens: 612, output_tokens: 60 }
    const first = { input_tokens: 612, output_tokens: 1, iterations: [compaction] }
    const last = { output_tokens: 60, iterations: [compaction, visible, advisor, 'x', null] }
    expect(billedUsage(merged(first, last))).toEqual({
      input: 5622,
      output: 280,
      cacheRead: 40,
      cacheWrite5m: 1,
      cacheWrite1h: 2,
      serverToolUses: 0,
    })
  })

  test('figures that no request can have are ignored and flagged, also where they only add up', () => {
    const huge = 2 ** 31 - 1
    const sane = { input_tokens: 10, output_tokens: 5 }
    const absurd = [
      { ...sane, input_tokens: huge },
      { ...sane, iterations: [{ type: 'compaction', input_tokens: huge, output_tokens: 1 }] },
      { ...sane, iterations: [{ type: 'compaction', input_tokens: -1, output_tokens: 1 }] },
      { ...sane, iterations: Array.from({ length: 200 }, () => ({ type: 'compaction', input_tokens: 1_000_000, output_tokens: 1 })) },
      { ...sane, server_tool_use: { web_search_requests: huge } },
      { ...sane, server_tool_use: { web_search_requests: -3 } },
      { ...sane, server_tool_use: { web_search_requests: 'many' } },
    ]
    for (const usage of absurd) {
      const reported = merged(sane, usage)
      expect(reported.absurd, JSON.stringify(usage).slice(0, 80)).toBe(true)
      expect(billedUsage(reported)).toEqual({ ...NO_USAGE, input: 10, output: 5 })
    }
  })

  test('server tool uses are the sum of their kinds', () => {
    expect(billedUsage(merged({ server_tool_use: { web_search_requests: 2, web_fetch_requests: 3 } })).serverToolUses).toBe(5)
  })

  test('usage is reported once input and output were both told', () => {
    expect(isReported(merged({ input_tokens: 0, output_tokens: 0 }))).toBe(true)
    for (const usage of [{}, { input_tokens: 1 }, { output_tokens: 1 }]) expect(isReported(merged(usage))).toBe(false)
  })

  test('nothing plus usage is that usage', () => {
    const usage = billedUsage(merged({ input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3, ...split(4, 5) }))
    expect(addUsage(NO_USAGE, usage)).toEqual(usage)
  })
})
