/** A cap on a request's cost lowers its `max_tokens` in whatever an upstream may get, to the last token and no byte beside it. Rules: money.md "Caps of a request". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseBody } from '../../src/core/body.ts'
import type { Model } from '../../src/core/catalog.ts'
import type { ChatDialect } from '../../src/core/chat-dialect.ts'
import type { Call } from '../../src/core/format.ts'
import { type Picos, picos, toExactUsdText } from '../../src/core/money.ts'
import { holdFor } from '../../src/core/pricing.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { sha256Hex } from '../../src/relay/read-context.ts'
import { READERS, type ReaderName } from '../../src/relay/readers.ts'
import { GOLDEN_MODEL } from '../support/golden.ts'

type Asking = Readonly<{ header?: string; plan?: Picos; model?: Partial<Model> }>

function read(reader: ReaderName, body: object | string, { header, plan, model = {} }: Asking = {}): Call<unknown> | Refusal {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const parsed = parseBody(Buffer.from(text))
  if (parsed instanceof Refusal) return parsed
  const headers = new Headers(header === undefined ? {} : { 'x-max-cost-usd': header })
  return READERS[reader](parsed, {
    headers,
    find: () => ({ ...GOLDEN_MODEL, ...model }),
    recall: () => 'unknown',
    sha256Hex,
    planCapPicos: plan,
  })
}

function called(reader: ReaderName, body: object | string, asking: Asking = {}): Call<unknown> {
  const call = read(reader, body, asking)
  if (call instanceof Refusal) throw new Error(call.message)
  return call
}

const refusal = (reader: ReaderName, body: object | string, asking: Asking): string | undefined => {
  const call = read(reader, body, asking)
  return call instanceof Refusal ? call.message : undefined
}

const holdOf = ({ bounds, model }: Call<unknown>, more = 0): bigint =>
  holdFor({ ...bounds, outputTokensMax: bounds.outputTokensMax + more }, model, model.contextWindow)
const OUTPUT = 15_000_000n
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const GENERATING = ['messages', 'chat', 'responses'] as const
const asked = (reader: ReaderName, tokens: number) =>
  reader === 'responses'
    ? { model: 'stella-2', input: 'Hello', max_output_tokens: tokens }
    : { model: 'stella-2', max_tokens: tokens, messages: [{ role: 'user', content: 'Hello' }] }

const DIALECT: ChatDialect = { reasoning: 'auto', maxTokensField: 'max_tokens', streamUsage: true, dropFields: [], passFields: [] }
const MANNERS = [DIALECT, { ...DIALECT, maxTokensField: 'max_completion_tokens' } as const]
const MODELS = { native: {}, chat: { isNative: false, chat: MANNERS }, both: { chat: MANNERS } }

for (const reader of GENERATING)
  for (const [kind, model] of Object.entries(MODELS))
    test(`${reader} of a model that is served in ${kind}: exactly the tokens that fit, in each body, and every other byte as it was`, () => {
      const uncapped = called(reader, asked(reader, 1_000), { model })
      for (const tokens of [999, 10, 1]) {
        const cap = picos(holdOf(uncapped) - BigInt(1_000 - tokens) * OUTPUT)
        for (const asking of [
          { header: toExactUsdText(cap) },
          { plan: cap },
          { header: '1', plan: cap },
          { header: toExactUsdText(cap), plan: picos(cap + 9n) },
        ]) {
          const call = called(reader, asked(reader, 1_000), { ...asking, model })
          expect([call.maxTokensApplied, call.bounds.outputTokensMax]).toEqual([tokens, tokens])
          expect([holdOf(call) <= cap, holdOf(call, 1) > cap]).toEqual([true, true])
          const lowered = (body: Uint8Array, field: string): string => textOf(body).replace(`"${field}":1000`, `"${field}":${tokens}`)
          expect(textOf(call.body)).toBe(lowered(uncapped.body, 'max_tokens'))
          expect(call.chat?.map(({ body }) => textOf(body))).toEqual(
            uncapped.chat?.map(({ body }, index) => lowered(body, MANNERS[index]?.maxTokensField ?? '')),
          )
          for (const { body, modelAt } of [
            ...(kind === 'chat' ? [] : [{ body: call.body, modelAt: call.routing.modelAt }]),
            ...(call.chat ?? []),
          ])
            expect(textOf(body).slice(modelAt)).toStartWith('"stella-2-20260301"')
        }
        const below = read(reader, asked(reader, 1_000), { plan: picos(cap - 1n), model })
        expect(below instanceof Refusal ? 0 : below.maxTokensApplied).toBe(tokens - 1)
      }
      const fits = called(reader, asked(reader, 1_000), { plan: picos(holdOf(uncapped)), model })
      expect(fits).toEqual(uncapped)
    })

test('where not one token fits, the refusal names whose cap it was, and how much would do', () => {
  for (const reader of GENERATING) {
    const one = holdOf(called(reader, asked(reader, 1)))
    const least = toExactUsdText(picos(one))
    const below = toExactUsdText(picos(one - 1n))
    const told = `a request may cost ${below} USD, and with the shortest answer this one can cost ${least} USD`
    const body = asked(reader, 1)
    expect(refusal(reader, body, { header: below })).toBe(`x-max-cost-usd: ${told}`)
    expect(refusal(reader, body, { plan: picos(one - 1n) })).toBe(`max_request_usd: ${told}`)
    expect(refusal(reader, body, { header: below, plan: picos(one) })).toStartWith('x-max-cost-usd: ')
    expect(refusal(reader, body, { header: least, plan: picos(one - 1n) })).toStartWith('max_request_usd: ')
    expect(called(reader, body, { header: least }).maxTokensApplied).toBeUndefined()
  }
  const warming = asked('messages', 0)
  const warmed = toExactUsdText(picos(holdOf(called('messages', warming))))
  expect(called('messages', warming, { header: warmed }).maxTokensApplied).toBeUndefined()
  expect(refusal('messages', warming, { header: '0' })).toContain(`this one can cost ${warmed} USD`)
})

test('an amount that is none is refused by its header, whatever the plan says', () => {
  for (const reader of GENERATING)
    for (const header of ['', '-1', '-0.5', '1e3', '0x1', '$1', '1,5', '.5', '1.', 'NaN', '1, 2', '0.0000000000001', '1000000000'])
      expect([header, refusal(reader, asked(reader, 9), { header, plan: picos(1n) })]).toEqual([
        header,
        'x-max-cost-usd: Input should be an amount of USD such as 0.05',
      ])
  expect(read('countTokens', asked('messages', 9), { header: 'much', plan: picos(1n) })).not.toBeInstanceOf(Refusal)
})

test('thinking keeps its budget or the request is refused: the budget that a request names, or what it is translated to', () => {
  const thinking = {
    messages: { thinking: { type: 'enabled', budget_tokens: 2_048 } },
    chat: { reasoning_effort: 'low' },
    responses: { reasoning: { effort: 'low' } },
  }
  const rejects = new Set(['adaptive_thinking'] as const)
  for (const model of [{ rejects }, { rejects, chat: MANNERS }])
    for (const reader of GENERATING) {
      const body = { ...asked(reader, 4_000), ...thinking[reader] }
      const uncapped = called(reader, body, { model })
      const capFor = (tokens: number): Picos => picos(holdOf(uncapped) - BigInt(4_000 - tokens) * OUTPUT)
      const enough = called(reader, body, { plan: capFor(2_049), model })
      expect(JSON.parse(textOf(enough.body))).toMatchObject({ max_tokens: 2_049, thinking: { type: 'enabled', budget_tokens: 2_048 } })
      expect(refusal(reader, body, { plan: capFor(2_048), model })).toBe(
        `max_request_usd: 2048 tokens of output fit into ${toExactUsdText(capFor(2_048))} USD, and 2048 tokens of thinking need more`,
      )
    }
  const off = { ...asked('messages', 4_000), thinking: { type: 'disabled', budget_tokens: 2_048 } }
  expect(called('messages', off, { plan: picos(holdOf(called('messages', off)) - OUTPUT * 3_990n) }).maxTokensApplied).toBe(10)
})

test('however max_tokens is written, the one that counts is replaced and the hold is within the cap', () => {
  const rest = '"messages":[{"role":"user","content":"Hello"}]'
  for (const [fields, tokens] of [
    ['"max_tokens":1e4', 10_000],
    ['"max_tokens" : 1E+0004 ', 10_000],
    ['"max_\\u0074okens":10000', 10_000],
    ['"max_tokens":7,"max_tokens":10000', 10_000],
    ['"max_tokens":500000', 64_000],
  ] as const)
    for (const order of [`{"model":"stella-2",${fields},${rest}}`, `{${fields},${rest},"model":"stella-2"}`])
      fc.assert(
        fc.property(fc.integer({ min: 1, max: tokens - 1 }), fc.nat(14_999_999), (wanted, beside) => {
          const uncapped = called('messages', order)
          const cap = picos(holdOf(uncapped) - BigInt(tokens - wanted) * OUTPUT + BigInt(beside))
          const call = called('messages', order, { plan: cap })
          const sent = JSON.parse(textOf(call.body))
          expect(sent).toEqual({
            model: 'stella-2-20260301',
            max_tokens: call.maxTokensApplied,
            messages: [{ role: 'user', content: 'Hello' }],
          })
          expect(textOf(call.body).match(/max_(t|\\u0074)okens/g)).toHaveLength(1)
          expect(textOf(call.body).slice(call.routing.modelAt)).toStartWith('"stella-2-20260301"')
          expect(holdOf(call) <= cap && call.bounds.bodyBytes >= call.body.byteLength).toBe(true)
          // Digits in place of an exponent take room, which a token pays.
          expect(wanted - (call.maxTokensApplied ?? 0)).toBeLessThanOrEqual(2)
        }),
        { numRuns: 20 },
      )
})
