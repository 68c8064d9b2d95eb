/** What a request may cost at most, as its client or its plan says, is never held above it; a refusal is free. Rules: money.md "Caps of a request". */

import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import type { FormatName } from '../../src/core/format.ts'
import { type Picos, picos, toExactUsdText } from '../../src/core/money.ts'
import { MESSAGE, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import { chatUpstream } from '../support/gateway.ts'
import { eventsOf, FORMATS, type Stage, startStage } from '../support/stage.ts'

const native = await startStage()
const chat = await startStage({ ...chatUpstream('', { dialect: { maxTokensField: 'max_completion_tokens' } }), upstreams: [] })
afterAll(() => Promise.all([native.stop(), chat.stop()]))

const OUTPUT = 15_000_000n
const ASKED = 32
const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Good morning' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 3 },
}
const chunk = (delta: object, finish: string | null, more = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`

beforeEach(() => {
  const isStream = (json: unknown): boolean => Object(json).stream === true
  native.play((request) => (isStream(request.json()) ? nativeStream(...textFrames('Good morning')) : nativeMessage(MESSAGE)))
  chat.play((request) =>
    isStream(request.json())
      ? nativeStream(chunk({ content: 'Good morning' }, null), chunk({}, 'stop', { usage: COMPLETION.usage }), 'data: [DONE]\n\n')
      : nativeMessage(COMPLETION),
  )
})

type Asked = Readonly<{ format: FormatName; stream: boolean; more?: Record<string, unknown> }>
const withCap = ({ secret }: Stage, cap: string | undefined, more = {}): RequestInit => ({
  headers: { authorization: `Bearer ${secret}`, ...(cap === undefined ? {} : { 'x-max-cost-usd': cap }), ...more },
})

/** The answer, what was held for it, and what its upstream got. */
async function asked(stage: Stage, question: Asked, cap?: string) {
  const response = await stage.ask(question, withCap(stage, cap))
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.stringContaining('Good morning')])
  if (question.stream) expect(eventsOf(text).length).toBeGreaterThan(1)
  const receipt = await stage.receiptOf(response)
  return {
    applied: response.headers.get('x-max-tokens-applied'),
    holdPicos: receipt?.holdPicos ?? 0n,
    sent: Buffer.from(stage.upstream.requests.at(-1)?.body ?? []).toString(),
  }
}

for (const [kind, stage, field] of [
  ['native', native, 'max_tokens'],
  ['chat', chat, 'max_completion_tokens'],
] as const)
  describe.each(FORMATS.flatMap((format) => [false, true].map((stream) => [format, stream] as const)))(
    `%s, stream %p, before an upstream that speaks ${kind}`,
    (format, stream) => {
      const question = { format, stream }

      test('the upstream gets the tokens that fit, the answer says so, and no more is held than the cap', async () => {
        const free = await asked(stage, question)
        expect(free.applied).toBeNull()
        for (const tokens of [20, 1]) {
          const cap = picos(free.holdPicos - BigInt(ASKED - tokens) * OUTPUT)
          expect(await asked(stage, question, toExactUsdText(cap))).toEqual({
            applied: `${tokens}`,
            holdPicos: cap,
            sent: free.sent.replace(`"${field}":${ASKED}`, `"${field}":${tokens}`),
          })
          // A billionth of a cent less, and a token less fits.
          if (tokens > 1) expect((await asked(stage, question, toExactUsdText(picos(cap - 1n)))).applied).toBe(`${tokens - 1}`)
        }
        const enough = await asked(stage, question, toExactUsdText(free.holdPicos as Picos))
        expect(enough).toEqual(free)
      })

      test('a request that cannot fit is refused by the name of its cap: nothing is called, held or charged', async () => {
        const free = await asked(stage, question)
        const calls = stage.upstream.requests.length
        const tooLittle = toExactUsdText(picos(free.holdPicos - BigInt(ASKED - 1) * OUTPUT - 1n))
        const receipts = await stage.receiptsOf(async () => {
          for (const cap of [tooLittle, '0', 'much', '-1', '']) {
            const response = await stage.ask(question, withCap(stage, cap))
            expect([cap, response.status, response.headers.get('x-should-retry')]).toEqual([cap, 400, 'false'])
            expect(response.headers.get('x-max-tokens-applied')).toBeNull()
            const { error } = (await response.json()) as { error: { type: string; message: string } }
            expect([error.type, error.message]).toEqual(['invalid_request_error', expect.stringMatching(/^x-max-cost-usd: /)])
            expect(stage.gateway.holds()).toEqual([])
          }
        })
        expect([receipts, stage.upstream.requests.length - calls]).toEqual([[], 0])
      })
    },
  )

test('a body that is read on a thread is lowered alike', async () => {
  const long = { format: 'messages', stream: false, more: { system: 'x'.repeat(1_100_000) } } as const
  const free = await asked(native, long)
  const cap = picos(free.holdPicos - 30n * OUTPUT)
  const lowered = await asked(native, long, toExactUsdText(cap))
  expect([lowered.applied, lowered.holdPicos]).toEqual(['2', cap])
  expect(lowered.sent).toBe(free.sent.replace('"max_tokens":32', '"max_tokens":2'))
})

test('thinking that would not fit is refused and never made less', async () => {
  const thinking = { type: 'enabled', budget_tokens: 1_024 }
  const question = { format: 'messages', stream: false, more: { max_tokens: 2_000, thinking } } as const
  const free = await asked(native, question)
  const capFor = (tokens: number): string => toExactUsdText(picos(free.holdPicos - BigInt(2_000 - tokens) * OUTPUT))
  const fits = await asked(native, question, capFor(1_025))
  expect(JSON.parse(fits.sent)).toMatchObject({ max_tokens: 1_025, thinking })
  const receipts = await native.receiptsOf(async () => {
    const refused = await native.ask(question, withCap(native, capFor(1_024)))
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('1024 tokens of thinking need more')])
  })
  expect(receipts).toEqual([])
})

test('the cap of a plan holds without a header, the lesser counts, and a reload changes it', async () => {
  const question = { format: 'messages', stream: false } as const
  // It is read on a thread.
  const long = { ...question, more: { system: 'x'.repeat(1_100_000) } }
  const free = await asked(native, question)
  const freeLong = await asked(native, long)
  const before = native.gateway.world.catalog()
  const capAt = (tokens: number): Picos => picos(free.holdPicos - BigInt(ASKED - tokens) * OUTPUT)
  const planned = (maxRequestPicos: Picos): void =>
    native.gateway.reload({ catalog: { ...before, plans: new Map([['default', { name: 'default', models: ['*'], maxRequestPicos }]]) } })
  try {
    planned(capAt(10))
    expect((await asked(native, question)).applied).toBe('10')
    expect((await asked(native, question, toExactUsdText(capAt(5)))).applied).toBe('5')
    expect((await asked(native, question, toExactUsdText(capAt(12)))).applied).toBe('10')
    planned(picos(freeLong.holdPicos - 30n * OUTPUT))
    expect((await asked(native, long)).applied).toBe('2')
    planned(capAt(7))
    expect((await asked(native, question)).applied).toBe('7')
    planned(capAt(0))
    const refused = await native.ask(question)
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('max_request_usd: a request may cost ')])
  } finally {
    native.gateway.reload({ catalog: before })
  }
  expect((await asked(native, question)).applied).toBeNull()
})

test('another cap is another request under an Idempotency-Key, and a refused one leaves the key free', async () => {
  const question = { format: 'chat', stream: false } as const
  const ask = (cap: string | undefined) => native.ask(question, withCap(native, cap, { 'idempotency-key': 'capped-1' }))
  const receipts = await native.receiptsOf(async () => {
    expect((await ask('0.00000001')).status).toBe(400)
    const first = await (await ask('0.01')).text()
    await native.gateway.idle()
    for (const other of ['0.02', undefined]) {
      const refused = await ask(other)
      expect([refused.status, await refused.text()]).toEqual([
        400,
        expect.stringContaining('Idempotency-Key: was used with another request'),
      ])
    }
    const again = await ask('0.01')
    expect([again.headers.get('idempotency-replayed'), await again.text()]).toEqual(['true', first])
  })
  expect(receipts).toHaveLength(1)
})

test('counting tokens is free and knows no cap', async () => {
  native.play(nativeMessage({ input_tokens: 5 }))
  const body = { model: 'sonnet', messages: [{ role: 'user', content: 'Hello' }] }
  const counted = await native.gateway.post('/v1/messages/count_tokens', native.secret, body, withCap(native, 'much'))
  expect([counted.status, await counted.json()]).toEqual([200, { input_tokens: 5 }])
})
