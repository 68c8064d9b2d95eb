/**
 * Random native streams that keep the grammar of native.md "Stream", in the shapes of upstreams that differ in how they write it, and the message they amount
 * to.
 */

import fc from 'fast-check'

type Json = Record<string, unknown>

/** `block` is the whole block, `deltas` how it streams after `opening`. */
type Block = Readonly<{ block: Json; opening: Json; deltas: readonly Json[] }>

export type NativeStream = Readonly<{
  events: readonly (Json & { type: string })[]
  /** The message that an upstream would have given without streaming. */
  message: Json
  bytes: Uint8Array
}>

/** Text with what JSON escapes, what SSE cares for, several bytes a letter, and halves of surrogate pairs. */
const text: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom('"', '\\', '\n', '\r\n', 'data: ', '\u0000', '\u2028', 'é漢字', '👩‍👧', '\ud83d', '{"a":1}', '\\u00e9', '</'),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''))

const pieces = (whole: string, cuts: readonly number[]): string[] => {
  const places = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((place, index) => whole.slice(place, places[index] ?? whole.length))
}
const cuts = fc.array(fc.nat(1_000), { maxLength: 4 })

const textBlock: fc.Arbitrary<Block> = fc.tuple(text, cuts, fc.boolean()).map(([whole, at, startsFull]) => {
  const [first = '', ...rest] = pieces(whole, at)
  return {
    block: { type: 'text', text: whole },
    opening: { type: 'text', text: startsFull ? first : '' },
    deltas: (startsFull ? rest : [first, ...rest]).map((piece) => ({ type: 'text_delta', text: piece })),
  }
})

const thinkingBlock: fc.Arbitrary<Block> = fc.tuple(text, cuts, fc.constantFrom('', 'EqQBCkYIAR+/=')).map(([thinking, at, signature]) => ({
  block: { type: 'thinking', thinking, signature },
  opening: { type: 'thinking', thinking: '', signature: '' },
  deltas: [
    ...pieces(thinking, at).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    ...(signature === '' ? [] : [{ type: 'signature_delta', signature }]),
  ],
}))

const redactedBlock: fc.Arbitrary<Block> = fc.base64String({ minLength: 1 }).map((data) => {
  const block = { type: 'redacted_thinking', data }
  return { block, opening: block, deltas: [] }
})

const toolBlock: fc.Arbitrary<Block> = fc
  .record({
    id: fc.constantFrom('toolu_01A', 'toolu_01B', 'functions.f:0'),
    name: fc.constantFrom('f', 'g', 'apply_patch', 'agents__spawn', 'never_declared'),
    input: fc.oneof(
      fc.constant({}),
      fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 })),
      text.map((input) => ({ input })),
    ),
    at: cuts,
    isWhole: fc.boolean(),
    isSilent: fc.boolean(),
  })
  .map(({ id, name, input, at, isWhole, isSilent }) => {
    // What JSON says of the input, so that the message and its stream mean the same (JSON knows no -0 and no lone __proto__).
    const json = JSON.stringify(input)
    const read = JSON.parse(json)
    const isEmpty = Object.keys(read).length === 0
    const deltas = isEmpty ? (isSilent ? [] : ['']) : isWhole ? [] : pieces(json, at)
    return {
      block: { type: 'tool_use', id, name, input: read },
      opening: { type: 'tool_use', id, name, input: isWhole ? read : {} },
      deltas: deltas.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    }
  })

const hiddenBlock: fc.Arbitrary<Block> = fc.constantFrom<Block>(
  {
    block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { q: 'x' } },
    opening: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    deltas: [{ type: 'input_json_delta', partial_json: '{"q":"x"}' }],
  },
  { block: { type: 'hologram', text: 'no' }, opening: { type: 'hologram' }, deltas: [{ type: 'text_delta', text: 'no' }] },
)

const block = fc.oneof({ weight: 3, arbitrary: textBlock }, thinkingBlock, redactedBlock, { weight: 2, arbitrary: toolBlock }, hiddenBlock)

const stopReason = fc.constantFrom(
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'refusal',
  'pause_turn',
  'weird',
  'model_context_window_exceeded',
)

const count = fc.nat(100_000)
/** A figure that cannot be true would be estimated, by the bytes of deltas as they are spelled. */
const told = fc.integer({ min: 1, max: 100_000 })
const usage = fc.record({
  input_tokens: told,
  output_tokens: told,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  cache_creation: fc.record({ ephemeral_1h_input_tokens: fc.nat(1_000), ephemeral_5m_input_tokens: fc.constant(0) }),
  output_tokens_details: fc.record({ thinking_tokens: fc.nat(1_000) }),
})

type Style = 'vendor' | 'crlf' | 'cr' | 'bare' | 'spaced'

export const nativeStream: fc.Arbitrary<NativeStream> = fc
  .record({
    blocks: fc.array(block, { maxLength: 5 }),
    stopReason,
    usage,
    pings: fc.array(fc.nat(60), { maxLength: 4 }),
    hasStop: fc.boolean(),
    style: fc.constantFrom<Style>('vendor', 'crlf', 'cr', 'bare', 'spaced'),
  })
  .map(({ blocks, stopReason: stop_reason, usage: figures, pings, hasStop, style }) => {
    const head = { id: 'msg_01Fuzz', type: 'message', role: 'assistant', model: 'stella-2-20260301' }
    const end = { stop_reason, stop_sequence: null }
    const events: (Json & { type: string })[] = [
      {
        type: 'message_start',
        message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...figures, output_tokens: 1 } },
      },
      ...blocks.flatMap(({ opening, deltas }, index) => [
        { type: 'content_block_start', index, content_block: opening },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: end, usage: figures },
      ...(hasStop ? [{ type: 'message_stop' }] : []),
    ]
    for (const at of pings) events.splice(1 + (at % events.length), 0, { type: 'ping' })
    // A total of 0 does not replace the first figure (mergeUsage), so the whole message says 1 then too.
    const total = { ...figures, output_tokens: figures.output_tokens === 0 ? 1 : figures.output_tokens }
    return {
      events,
      message: { ...head, content: blocks.map(({ block: whole }) => whole), ...end, usage: total },
      bytes: Buffer.from(events.map((event) => frame(event, style)).join(''), 'utf8'),
    }
  })

function frame(event: Json & { type: string }, style: Style): string {
  const json = style === 'spaced' ? JSON.stringify(event, null, 1).replaceAll('\n', ' ') : JSON.stringify(event)
  const lines = style === 'bare' ? [`data:${json}`, ''] : [`event: ${event.type}`, `data: ${json}`, '']
  const end = style === 'crlf' ? '\r\n' : style === 'cr' ? '\r' : '\n'
  return lines.map((line) => line + end).join('')
}
