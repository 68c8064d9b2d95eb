/** What a native stream or answer says of its usage, and what of it is billed: every counter by the rule for merging, once, never negative. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { addUsage, billedUsage, isReported, mergeUsage, NO_USAGE, NOT_REPORTED, type ReportedUsage } from '../../src/core/usage.ts'

const merged = (...usages: unknown[]): ReportedUsage => usages.reduce<ReportedUsage>(mergeUsage, NOT_REPORTED)

describe('usage merged over a stream', () => {
  test('the newest figure wins and is never added', () => {
    expect(merged({ input_tokens: 43, output_tokens: 1 }, { input_tokens: 61, output_tokens: 2 })).toMatchObject({ input: 61, output: 2 })
    expect(merged({ output_tokens: 9 }, { output_tokens: 4 }).output).toBe(4)
  })

  test('a 0 replaces what was positive in a full statement only, one with iterations', () => {
    const iterations = [{ type: 'message', input_tokens: 0 }]
    const use = { input_tokens: 100, output_tokens: 9, cache_read_input_tokens: 5, server_tool_use: { web_search_requests: 2 } }
    const zeros = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, server_tool_use: { web_search_requests: 0 } }
    expect(billedUsage(merged(use, { ...zeros, iterations }))).toEqual(NO_USAGE)
    for (const partial of [zeros, { ...zeros, iterations: [] }, { ...zeros, iterations: null }, { iterations }])
      expect(billedUsage(merged(use, partial))).toEqual(billedUsage(merged(use)))
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
  const writes = (...usages: object[]) => {
    const { cacheWrite5m, cacheWrite1h } = billedUsage(merged(...usages))
    return [cacheWrite5m, cacheWrite1h]
  }
  const split = (fiveMinutes: number, oneHour: number) => ({
    cache_creation: { ephemeral_5m_input_tokens: fiveMinutes, ephemeral_1h_input_tokens: oneHour },
  })

  test("cache writes follow the vendor's split; without it, or where it does not add up, all are 5 m", () => {
    expect(writes({ cache_creation_input_tokens: 700 })).toEqual([700, 0])
    expect(writes({ cache_creation_input_tokens: 700, ...split(300, 400) })).toEqual([300, 400])
    expect(writes({ cache_creation_input_tokens: 700, ...split(0, 400) })).toEqual([700, 0])
    expect(writes({ cache_creation_input_tokens: 100, ...split(0, 400) })).toEqual([100, 0])
    expect(writes(split(3, 4))).toEqual([3, 4])
    expect(writes({ cache_creation_input_tokens: 4, cache_creation: { ephemeral_1h_input_tokens: 4 } })).toEqual([0, 4])
  })

  test('a later object states its cache writes anew; a total without a split keeps what the older one says of it', () => {
    const hour = { cache_creation_input_tokens: 1000, ...split(0, 1000) }
    const total = (tokens: number) => ({ cache_creation_input_tokens: tokens })
    expect(writes(hour, { ...total(1000), ...split(1000, 0) })).toEqual([1000, 0])
    expect(writes(hour, { ...total(500), ...split(500, 0) })).toEqual([500, 0])
    expect(writes(hour, { ...total(500), ...split(900, 0) })).toEqual([500, 0])
    expect(writes(hour, split(500, 0))).toEqual([500, 0])
    expect(writes(hour, total(1000))).toEqual([0, 1000])
    expect(writes(hour, total(500))).toEqual([0, 500])
    expect(writes(hour, total(1200))).toEqual([200, 1000])
    expect(writes(hour, { ...total(1000), cache_creation: {} })).toEqual([0, 1000])
    for (const silent of [total(0), { ...total(0), ...split(0, 0) }, split(0, 0), { cache_creation: null }, {}])
      expect(writes(hour, silent)).toEqual([0, 1000])
    const iterations = [{ type: 'message', input_tokens: 1 }]
    expect(writes(hour, { ...total(0), iterations })).toEqual([0, 0])
    expect(writes(hour, { iterations })).toEqual([0, 1000])
  })

  test('any later total with a split that adds up is billed as split, whatever came before', () => {
    const part = fc.integer({ min: 1, max: 1_000 })
    fc.assert(
      fc.property(fc.array(fc.record({ total: part, oneHour: part })), part, fc.nat(1_000), (before, total, share) => {
        const oneHour = Math.min(share, total)
        const older = before.map((use) => ({ cache_creation_input_tokens: use.total, ...split(use.total, use.oneHour) }))
        const last = { cache_creation_input_tokens: total, ...split(total - oneHour, oneHour) }
        expect(writes(...older, last)).toEqual([total - oneHour, oneHour])
      }),
    )
  })

  test('the tokens written are the newest total, however it is split', () => {
    const counts = fc.nat(1_000)
    const usage = fc.record(
      { cache_creation_input_tokens: fc.integer({ min: 1, max: 1_000 }), cache_creation: fc.tuple(counts, counts) },
      { requiredKeys: ['cache_creation_input_tokens'] },
    )
    fc.assert(
      fc.property(fc.array(usage, { minLength: 1 }), (usages) => {
        const given = usages.map(({ cache_creation: parts, ...total }) => (parts === undefined ? total : { ...total, ...split(...parts) }))
        const [fiveMinutes = 0, oneHour = 0] = writes(...given)
        expect(fiveMinutes + oneHour).toBe(usages.at(-1)?.cache_creation_input_tokens ?? -1)
      }),
    )
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

  test('hidden iterations are those of the last object that has any, and come once', () => {
    const hidden = (input: number) => ({ type: 'compaction', input_tokens: input, output_tokens: 0 })
    const visible = { type: 'message', input_tokens: 7 }
    const use = (...iterations: object[]) => ({ input_tokens: 7, output_tokens: 1, iterations })
    const input = (...usages: object[]) => billedUsage(merged(...usages)).input
    expect(input(use(hidden(100)), use(hidden(100)))).toBe(107)
    expect(input(use(hidden(100)), use(hidden(30), visible))).toBe(37)
    for (const later of [use(), use(visible), { output_tokens: 5 }, { iterations: null }]) expect(input(use(hidden(100)), later)).toBe(107)
  })

  test('a full statement is billed as it stands, whatever came before it', () => {
    const counts = fc.nat(1_000)
    const counters = fc.record({
      input_tokens: counts,
      output_tokens: counts,
      cache_read_input_tokens: counts,
      cache_creation_input_tokens: counts,
      server_tool_use: fc.record({ web_search_requests: counts }),
    })
    const iteration = fc.record({ type: fc.constantFrom('compaction', 'advisor_message'), input_tokens: counts, output_tokens: counts })
    fc.assert(
      fc.property(fc.array(counters), counters, fc.array(iteration, { minLength: 1, maxLength: 5 }), (before, last, iterations) => {
        const full = { ...last, ...split(0, last.cache_creation_input_tokens), iterations }
        expect(billedUsage(merged(...before, full))).toEqual(billedUsage(merged(full)))
      }),
    )
  })

  test('the same object again changes nothing', () => {
    const parts = fc.dictionary(fc.constantFrom('ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'), fc.nat(50))
    const names = fc.constantFrom('input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens')
    const usage = fc
      .tuple(
        fc.dictionary(names, fc.oneof(fc.nat(50), fc.constant(-1))),
        parts,
        fc.array(fc.constant({ type: 'compaction', input_tokens: 3 })),
      )
      .map(([counters, cache_creation, iterations]) => ({ ...counters, cache_creation, iterations }))
    fc.assert(
      fc.property(fc.array(usage), usage, (before, last) => {
        expect(merged(...before, last, last)).toEqual(merged(...before, last))
      }),
    )
  })

  test('figures that no request can have are ignored and flagged, also where they only add up', () => {
    const huge = 2 ** 31 - 1
    const sane = { input_tokens: 10, output_tokens: 5 }
    const absurd = [
      { ...sane, input_tokens: huge },
      { ...sane, iterations: [{ type: 'compaction', input_tokens: huge, output_tokens: 1 }] },
      { ...sane, iterations: [{ type: 'compaction', input_tokens: -1, output_tokens: 1 }] },
      { ...sane, iterations: Array.from({ length: 200 }, () => ({ type: 'compaction', input_tokens: 1_000_000, output_tokens: 1 })) },
      { ...sane, cache_creation_input_tokens: -5, ...split(1, 1) },
      { ...sane, ...split(20_000_000, 20_000_000) },
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
