/**
 * A native stream becomes numbered events in the order that clients require, however the network cuts it, and equal to the slow translation. Rules:
 * responses.md "Events"; translation.md "Parity".
 */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import OpenAI from 'openai'
import { responsesFormat } from '../../../../src/core/formats/responses/format.ts'
import { ResponsesTranscoder } from '../../../../src/core/formats/responses/stream.ts'
import { readMessage } from '../../../../src/core/native/message.ts'
import { NativeReader } from '../../../../src/core/native/reader.ts'
import { Refusal, type RefusalName } from '../../../../src/core/refusal.ts'
import { cuts, randomCuts, splitsInTwo } from '../../../support/chunks.ts'
import { expectGolden, streamCases } from '../../../support/golden.ts'
import { runs } from '../../../support/property-runs.ts'
import { finishedJson, inOnePiece } from '../../../support/written.ts'
import { GOLDEN_CALL, readFine, STAMP } from './calls.ts'
import { readEvents, run, unsealed } from './events.ts'
import { nativeStream } from './native-streams.ts'
import { nativeEvents, translate, type WireEvent } from './oracle.ts'

const RUNS = runs(300)

test('every golden stream becomes the same responses events, however the network cuts it', () => {
  for (const { folder, name, native } of streamCases()) {
    for (const [how, chunks] of cuts(native)) {
      const { text } = run(chunks, GOLDEN_CALL)
      if (how === 'whole') expectGolden(folder, 'responses.sse', text)
      else expect(text, `${name}, ${how}`).toBe(run([native], GOLDEN_CALL).text)
    }
  }
})

test('a stream cut in two at every byte gives the same events', () => {
  for (const name of ['tool-after-thinking-and-text', 'sse-crlf', 'text-unicode']) {
    const native = streamCases().find((known) => known.name === name)?.native ?? new Uint8Array()
    const { text } = run([native], GOLDEN_CALL)
    for (const chunks of splitsInTwo(native)) expect(run(chunks, GOLDEN_CALL).text).toBe(text)
  }
})

test('the slow and obvious translation gives the same events: golden streams', () => {
  for (const { name, native, usage } of streamCases()) {
    const { events, fault, transcoder } = run([native], GOLDEN_CALL)
    const failure = fault === undefined ? undefined : { code: codeOf(fault), message: fault.message }
    expect(usage.end, name).toBe(fault?.name ?? 'complete')
    const expected = translate(nativeEvents(Buffer.from(native).toString('utf8')), transcoder.observation, GOLDEN_CALL, STAMP, failure)
    expect(unsealed(events), name).toEqual(unsealed(expected))
  }
})

/** The table of responses.md "Failures". */
function codeOf({ message, row }: Refusal): 'server_error' | 'invalid_prompt' {
  if (row.type === 'server_error') return 'server_error'
  return message.startsWith('prompt is too long') ? ('context_length_exceeded' as 'invalid_prompt') : 'invalid_prompt'
}

test('the slow and obvious translation gives the same events: random streams, cut at random', () => {
  fc.assert(
    fc.property(
      nativeStream.chain((stream) => fc.tuple(fc.constant(stream), randomCuts(stream.bytes))),
      ([{ bytes, events }, chunks]) => {
        const { events: actual, transcoder } = run(chunks, GOLDEN_CALL)
        expect(unsealed(actual)).toEqual(unsealed(translate(events, transcoder.observation, GOLDEN_CALL, STAMP, undefined)))
        expect(run([bytes], GOLDEN_CALL).events).toEqual(actual as WireEvent[])
      },
    ),
    { numRuns: RUNS },
  )
})

test('the vendor SDK folds every golden stream without an error, to the response of the last event', async () => {
  for (const { name, native } of streamCases()) {
    const { text, events } = run([native], GOLDEN_CALL)
    const last = events.at(-1)
    const final = await foldBySdk(text)
    if (last === undefined || !('response' in last)) throw new Error(`${name} ends without a response`)
    expect(final, name).toMatchObject(JSON.parse(JSON.stringify(last.response)))
  }
})

test('the vendor SDK folds random streams to the answer that is not streamed', async () => {
  await fc.assert(
    fc.asyncProperty(nativeStream, async ({ bytes, message }) => {
      const whole = readMessage(Buffer.from(JSON.stringify(message)))
      if (whole === undefined) throw new Error('not a message')
      const answer = JSON.parse(Buffer.from(responsesFormat.respond(whole, GOLDEN_CALL, STAMP)).toString('utf8'))
      expect(unsealed(await foldBySdk(run([bytes], GOLDEN_CALL).text))).toMatchObject(unsealed(answer) as object)
    }),
    { numRuns: Math.ceil(RUNS / 3) },
  )
})

test('a stream that keeps no grammar throws nothing, and what comes of it is still events that the vendor SDK folds', async () => {
  const index = fc.constantFrom<unknown>(0, 1, 2, -1, '0', null, undefined)
  const odd = fc.constantFrom<unknown>(null, 5, 'x', [], {}, undefined)
  const content_block = fc.oneof(
    odd,
    fc.record({
      type: fc.constantFrom<unknown>('text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 7),
      text: fc.constantFrom<unknown>('', 'a', 5, undefined),
      thinking: fc.constantFrom<unknown>('', 'b', null, undefined),
      signature: odd,
      data: odd,
      id: fc.constantFrom<unknown>('toolu_1', '', 5, undefined),
      name: fc.constantFrom<unknown>('f', 'apply_patch', '', null),
      input: fc.constantFrom<unknown>({}, { a: 1 }, 'x', null),
    }),
  )
  const delta = fc.oneof(
    odd,
    fc.constantFrom({ type: 'text_delta', text: 'a"' }, { type: 'text_delta', text: 5 }, { type: 'input_json_delta', partial_json: '{"a' }),
    fc.constantFrom({ type: 'thinking_delta', thinking: 't' }, { type: 'signature_delta', signature: 5 }, { stop_reason: 'max_tokens' }),
  )
  const type = fc.constantFrom(
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'ping',
    'x',
  )
  const event = fc.record({ type, index, content_block, delta, message: odd, usage: odd })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
      const { text } = run([Buffer.from(events.map((known) => `data: ${JSON.stringify(known)}\n\n`).join(''))], GOLDEN_CALL)
      await foldBySdk(text)
    }),
    { numRuns: RUNS },
  )
})

/** The frames, through the SDK's own client and accumulator. */
async function foldBySdk(text: string): Promise<object> {
  const client = new OpenAI({
    apiKey: 'sk-test',
    baseURL: 'http://gateway.invalid/v1',
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } })),
  })
  return await client.responses.stream({ model: 'stella-2', input: 'hi' }).finalResponse()
}

test('parity with the native stream: text, thinking and tool arguments arrive letter by letter, usage is what is billed', () => {
  for (const { name, native, usage } of streamCases()) {
    const { events, fault } = run([native], GOLDEN_CALL)
    const seen = { text: '', thinking: '', json: '' }
    const reader = new NativeReader(
      {
        delta: ({ kind, literal, from, to }) => {
          if (kind !== 'json' || name.startsWith('tool'))
            seen[kind] += JSON.parse(Buffer.from(literal.slice(from, to), 'latin1').toString('utf8'))
        },
        event: ({ type, body }) => {
          const block = body['content_block'] as { text?: string } | undefined
          if (type === 'content_block_start') seen.text += block?.text ?? ''
        },
        ignored: () => undefined,
      },
      GOLDEN_CALL.model,
    )
    reader.push(native)
    reader.end('ended')
    expect(deltasOf(events, 'response.output_text.delta'), name).toBe(seen.text)
    expect(deltasOf(events, 'response.reasoning_summary_text.delta'), name).toBe(seen.thinking)
    if (seen.json !== '') expect(deltasOf(events, 'response.function_call_arguments.delta').length, name).toBe(seen.json.length)
    const last = events.at(-1)
    if (fault !== undefined) {
      expect(last?.type, name).toBe('response.failed')
      continue
    }
    if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') throw new Error(`${name}: ${last?.type}`)
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = usage.usage
    expect(last.response.usage, name).toMatchObject({
      input_tokens: input + cacheRead + cacheWrite5m + cacheWrite1h,
      output_tokens: output,
      total_tokens: input + output + cacheRead + cacheWrite5m + cacheWrite1h,
    })
    expect(last.response.usage?.input_tokens_details, name).toMatchObject({
      cached_tokens: cacheRead,
      cache_write_tokens: cacheWrite5m + cacheWrite1h,
    })
  }
})

const deltasOf = (events: readonly WireEvent[], type: string): string =>
  events.map((event) => (event.type === type && 'delta' in event ? String(event.delta) : '')).join('')

test('text is announced, streamed, and ended in the order that clients require', () => {
  expect(typesOf('text')).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    ...deltaTypes('text', 'response.output_text.delta'),
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
})

const typesOf = (name: string): string[] => run([golden(name)], GOLDEN_CALL).events.map(({ type }) => type)
const deltaTypes = (name: string, type: string): string[] => typesOf(name).filter((known) => known === type)

function golden(name: string): Uint8Array {
  const found = streamCases().find((known) => known.name === name)
  if (found === undefined) throw new Error(`no golden stream ${name}`)
  return found.native
}

test('thinking, text and two tools are four items in order; a call without arguments is {}', () => {
  const blocks = [
    { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
    { type: 'text', text: 'So: ' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
  ]
  const { events } = run([streamOf(blocks, 'tool_use')], GOLDEN_CALL)
  const items = outputOf(events)
  expect(items.map(({ id, type }) => [id, type])).toEqual([
    ['rs_01Test_0', 'reasoning'],
    ['msg_01Test_1', 'message'],
    ['fc_01Test_2', 'function_call'],
    ['fc_01Test_3', 'function_call'],
  ])
  expect(items.slice(2).map(({ arguments: text, call_id, status }) => [text, call_id, status])).toEqual([
    ['{"a":1}', 'toolu_1', 'completed'],
    ['{}', 'toolu_2', 'completed'],
  ])
  expect(deltasOf(events, 'response.function_call_arguments.delta')).toBe('{"a":1}{}')
})

/** A stream whose blocks come whole when they start, as some upstreams send them. */
function streamOf(blocks: readonly Record<string, unknown>[], stopReason: string): Uint8Array {
  const events = [
    { type: 'message_start', message: { id: 'msg_01Test', usage: { input_tokens: 10, output_tokens: 1 } } },
    ...blocks.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: stopReason }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
}

function outputOf(events: readonly WireEvent[]): Record<string, unknown>[] {
  const last = events.at(-1)
  if (last === undefined || !('response' in last)) throw new Error('no response at the end')
  return last.response.output as unknown as Record<string, unknown>[]
}

test('thinking with a signature alone is a reasoning item without a summary, and can be sent back', () => {
  const { events } = run([golden('thinking-signature-only')], GOLDEN_CALL)
  const [item] = outputOf(events)
  expect(item).toMatchObject({ type: 'reasoning', summary: [] })
  expect(typeof item?.['encrypted_content']).toBe('string')
  expect(events.some(({ type }) => type.startsWith('response.reasoning_summary'))).toBe(false)
})

test('the input of a custom tool is decoded and arrives once', () => {
  const patch = '*** Begin Patch\n+ "quoted" \\ 漢字 👩‍👧\t\u0000\n*** End Patch'
  const json = JSON.stringify({ input: patch })
  const literal = (part: string): string => JSON.stringify({ type: 'input_json_delta', partial_json: part })
  const deltas = [json.slice(0, 20), json.slice(20)].map(
    (part) => `data: {"type":"content_block_delta","index":0,"delta":${literal(part)}}\n\n`,
  )
  const stream = Buffer.from(streamOf([{ type: 'tool_use', id: 'toolu_1', name: 'apply_patch', input: {} }], 'tool_use')).toString()
  const stop = 'data: {"type":"content_block_stop"'
  const { events } = run([Buffer.from(stream.replace(stop, deltas.join('') + stop))], GOLDEN_CALL)
  expect(outputOf(events)).toEqual([
    { id: 'ctc_01Test_0', type: 'custom_tool_call', status: 'completed', call_id: 'toolu_1', name: 'apply_patch', input: patch },
  ])
  expect(events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')).toHaveLength(1)
  expect(deltasOf(events, 'response.custom_tool_call_input.delta')).toBe(patch)
})

test('a call of a namespaced tool carries the name and the namespace of the client', () => {
  const { events } = run([streamOf([{ type: 'tool_use', id: 'toolu_1', name: 'agents__spawn', input: {} }], 'tool_use')], GOLDEN_CALL)
  expect(outputOf(events)).toMatchObject([{ type: 'function_call', name: 'spawn', namespace: 'agents' }])
})

test('what max_tokens cut short is incomplete, what came before it is complete', () => {
  const blocks = [
    { type: 'text', text: 'one' },
    { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    { type: 'text', text: 'two' },
  ]
  const { events } = run([streamOf(blocks, 'max_tokens')], GOLDEN_CALL)
  const last = events.at(-1)
  expect(last).toMatchObject({
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  })
  expect(outputOf(events).map(({ status }) => status)).toEqual(['completed', 'completed', 'incomplete'])
})

test('a refusal without content is incomplete by the content filter, with an empty output', () => {
  const { events } = run([golden('refusal-without-blocks')], GOLDEN_CALL)
  expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress', 'response.incomplete'])
  expect(events.at(-1)).toMatchObject({ response: { output: [], incomplete_details: { reason: 'content_filter' } } })
})

test('a failure is response.failed with the code that tells clients whether to retry, and nothing after it', () => {
  const cases: readonly [RefusalName, string, string][] = [
    ['upstreamBroken', '', 'server_error'],
    ['upstreamBusy', '', 'server_error'],
    ['timedOut', '', 'server_error'],
    ['draining', '', 'server_error'],
    ['rateLimited', '', 'rate_limit_exceeded'],
    ['insufficientBalance', 'Insufficient balance on this API key. Top up: x', 'insufficient_quota'],
    ['upstreamInvalidRequest', 'prompt is too long: 210000 tokens > 200000 maximum', 'context_length_exceeded'],
    ['upstreamInvalidRequest', 'messages: odd', 'invalid_prompt'],
    ['bodyTooLarge', '', 'invalid_prompt'],
    ['keyDisabled', '', 'invalid_prompt'],
  ]
  for (const [name, message, code] of cases) {
    const refusal = new Refusal(name, message === '' ? {} : { message })
    for (const isStarted of [false, true]) {
      const transcoder = new ResponsesTranscoder(GOLDEN_CALL, STAMP)
      const before = isStarted ? transcoder.push(golden('text').subarray(0, 700)).now : undefined
      const text = Buffer.concat([inOnePiece(before), transcoder.fail(refusal)]).toString('utf8')
      const events = readEvents(text)
      expect(events[0]?.type).toBe('response.created')
      expect(events.at(-1)).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code, message: refusal.message }, usage: null },
      })
      expect(events.filter(({ type }) => type === 'response.failed')).toHaveLength(1)
    }
  }
})

test('a heartbeat is an event with the next number; before the first event, when clients accept none, a comment', () => {
  const transcoder = new ResponsesTranscoder(GOLDEN_CALL, STAMP)
  expect(Buffer.from(transcoder.heartbeat()).toString()).toBe(': keep-alive\n\n')
  const out: Uint8Array[] = []
  for (const frame of Buffer.from(golden('text'))
    .toString('utf8')
    .split(/(?<=\n\n)/)) {
    const { now, last } = transcoder.push(Buffer.from(frame))
    out.push(inOnePiece(now), inOnePiece(last))
    if (last === undefined && transcoder.observation.hasStarted) out.push(transcoder.heartbeat())
  }
  const events = readEvents(Buffer.concat(out).toString('utf8'))
  expect(events.filter(({ type }) => type === 'keepalive').length).toBeGreaterThan(3)
  const plain = run([golden('text')], GOLDEN_CALL).events
  const bare = (known: readonly WireEvent[]) => known.map(({ sequence_number: _, ...event }) => event)
  expect(bare(events.filter(({ type }) => type !== 'keepalive'))).toEqual(bare(plain))
})

test('only the terminal event waits for the settle; content never does, also when both came in one chunk', () => {
  for (const { name, native } of streamCases()) {
    const transcoder = new ResponsesTranscoder(GOLDEN_CALL, STAMP)
    const pushed = transcoder.push(native)
    const { last, now } = pushed.last === undefined && pushed.fault === undefined ? { ...pushed, ...transcoder.end('ended') } : pushed
    const types =
      last === undefined
        ? []
        : inOnePiece(last)
            .toString('utf8')
            .match(/^event: .*$/gm)
    if (last !== undefined) expect(types, name).toHaveLength(1)
    if (last !== undefined) expect(types?.[0], name).toMatch(/^event: response\.(completed|incomplete)$/)
    expect(inOnePiece(now).toString('utf8'), name).not.toMatch(/^event: response\.(completed|incomplete|failed)$/m)
  }
})

test('numbers in a tool input that came whole keep their digits', () => {
  const stream = Buffer.from(
    streamOf([{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'BIG', b: 'ONE' } }], 'tool_use'),
  ).toString()
  const { events } = run([Buffer.from(stream.replace('"BIG"', '12345678901234567890').replace('"ONE"', '1.0'))], GOLDEN_CALL)
  expect(outputOf(events)[0]?.['arguments']).toBe('{"a":12345678901234567890,"b":1.0}')
})

test('item and call ids are unique even when the upstream repeats or leaves out its own', () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
  const { events } = run([streamOf([call, call, { ...call, id: '' }, { ...call, id: undefined }], 'tool_use')], GOLDEN_CALL)
  const ids = outputOf(events).map(({ call_id: id }) => id)
  expect(new Set(ids).size).toBe(4)
  expect(ids[0]).toBe('toolu_1')
})

test('an answer is remembered when it is whole, with its input, unless the client forbade it', () => {
  const input = [
    { role: 'user', content: 'hi' },
    { id: 'msg_0', role: 'assistant', content: 'yes' },
    { role: 'user', content: 'go' },
  ]
  for (const store of [undefined, true, null, false]) {
    const call = readFine({ input, store, stream: true })
    const { transcoder, events } = run([golden('tool-after-thinking-and-text')], call)
    const finished = transcoder.finished()
    if (store === false) expect(finished).toBeUndefined()
    else {
      expect(finished?.responseId).toBe('resp_01Golden')
      expect(finishedJson(finished)).toEqual([...input, ...outputOf(events)])
      expect(finished?.items.map(({ id }) => id)).toEqual([undefined, 'msg_0', undefined, ...outputOf(events).map(({ id }) => String(id))])
    }
    expect(run([golden('cut-after-text')], call).transcoder.finished()).toBeUndefined()
  }
  expect(new ResponsesTranscoder(readFine({ input }), STAMP).finished()).toBeUndefined()
})
