/**
 * One delta may have 8 MiB. What it adds to the memory is bounded on every format, though responses writes the whole text in five events: they share its
 * bytes. Rules: requests.md "Backpressure"; responses.md "Events".
 */

import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ResponsesTranscoder } from '../../../src/core/formats/responses/stream.ts'
import { finishedJson } from '../../support/written.ts'
import { readFine, STAMP } from './responses/calls.ts'
import { run, unsealed } from './responses/events.ts'
import { nativeEvents, translate } from './responses/oracle.ts'

const MIB = 1024 * 1024
/** Of resident memory, with what the answer leaves to be remembered. */
const GROWTH_MIB_MAX = 64

const CHILD = join(import.meta.dir, '..', '..', 'support', 'stream-growth.ts')

test.if(process.platform === 'linux').each(['messages', 'chat', 'responses'])(
  '%s: a delta of 8 MB makes the process grow by 64 MiB at most',
  (format) => {
    const { stdout, stderr, success } = Bun.spawnSync([process.execPath, CHILD, format])
    expect(success, stderr.toString()).toBe(true)
    expect(Number(stdout.toString())).toBeGreaterThan(0)
    expect(Number(stdout.toString())).toBeLessThan(GROWTH_MIB_MAX)
  },
)

const frame = (event: Readonly<Record<string, unknown>>): string => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`
const block = (index: number, opening: unknown, deltas: readonly unknown[]): string =>
  [
    { type: 'content_block_start', index, content_block: opening },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
    .map(frame)
    .join('')
const answer = (...blocks: readonly string[]): Buffer =>
  Buffer.from(
    [
      frame({ type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 1 } } }),
      ...blocks,
      frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      frame({ type: 'message_stop' }),
    ].join(''),
  )

const CALL = readFine({
  tools: [
    { type: 'custom', name: 'c' },
    { type: 'function', name: 'f', parameters: {} },
  ],
})

test('responses: the five events that have the whole text share its bytes', () => {
  const size = 4 * MIB
  const text = block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'x'.repeat(size) }])
  const { now, last } = new ResponsesTranscoder(CALL, STAMP).push(answer(text))
  const written = [now, last].flatMap((part): readonly Uint8Array[] => [part ?? []].flat() as Uint8Array[])
  expect(written.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeGreaterThan(5 * size)
  const held = [...new Set(written.map(({ buffer }) => buffer))].reduce((sum, { byteLength }) => sum + byteLength, 0)
  expect(held).toBeLessThan(1.1 * size)
})

/** Lengths around those from which on text is shared, alone and among short ones. */
const LENGTHS = [[65_535], [65_536], [65_537], [70_000, 3, 70_000], [5, 70_000, 5], [40_000, 40_000, 40_000], [3, 65_535, 1, 65_536, 2]]
const letters = (length: number): string =>
  'aé"\\\n😀z'
    .repeat(Math.ceil(length / 8))
    .slice(0, length)
    .toWellFormed()

describe.each(LENGTHS.map((lengths) => [lengths.join(' + '), lengths] as const))('responses: deltas of %s letters', (_, lengths) => {
  const texts = lengths.map(letters)
  const native = answer(
    block(0, { type: 'thinking', thinking: '' }, [
      ...texts.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'EqQB' },
    ]),
    block(
      1,
      { type: 'text', text: '' },
      texts.map((text) => ({ type: 'text_delta', text })),
    ),
    ...['f', 'c'].map((name, index) => {
      const json = JSON.stringify({ input: texts.join('') })
      const starts = lengths.map((_length, at) => lengths.slice(0, at).reduce((sum, length) => sum + length, 0))
      const parts = starts.map((start, at) => json.slice(start, starts[at + 1]))
      return block(
        2 + index,
        { type: 'tool_use', id: `toolu_${index}`, name, input: {} },
        parts.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      )
    }),
    block(4, { type: 'tool_use', id: 'toolu_4', name: 'f', input: { input: texts.join('') } }, []),
  )

  test('become what the slow and obvious translation makes of them, however the network cuts them', () => {
    const whole = run([native], CALL)
    expect(unsealed(whole.events)).toEqual(
      unsealed(translate(nativeEvents(native.toString('utf8')), whole.transcoder.observation, CALL, STAMP, undefined)),
    )
    const pieces = Array.from({ length: Math.ceil(native.length / 10_007) }, (_, index) =>
      native.subarray(index * 10_007, (index + 1) * 10_007),
    )
    expect(run(pieces, CALL).text === whole.text).toBe(true)
  })
})

test('responses: what is remembered of a long answer is what was written', () => {
  const native = answer(block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: letters(200_000) }]))
  const { transcoder, events } = run([native], CALL)
  const last = events.at(-1)
  expect(finishedJson(transcoder.finished()).slice(1) as unknown).toEqual(
    last !== undefined && 'response' in last ? last.response.output : undefined,
  )
})

test('responses: what is remembered shares the bytes of long text, and holds no others', () => {
  for (const { lengths, shares } of [
    { lengths: [4 * MIB], shares: true },
    { lengths: [65_536, 3], shares: true },
    { lengths: [70_000, 3, 70_000], shares: true },
    { lengths: [40_000, 40_000, 40_000], shares: false },
    { lengths: [5], shares: false },
  ]) {
    const deltas = lengths.map((length) => ({ type: 'text_delta', text: 'x'.repeat(length) }))
    const transcoder = new ResponsesTranscoder(CALL, STAMP)
    const { now, last } = transcoder.push(answer(block(0, { type: 'text', text: '' }, deltas)))
    const sent = new Set([now, last].flatMap((part) => [part ?? []].flat() as Uint8Array[]).map(({ buffer }) => buffer))
    const kept = (transcoder.finished()?.items ?? []).flatMap(({ json }) => [json].flat() as Uint8Array[])
    expect(kept.map(({ byteLength }) => byteLength)).toEqual(kept.map(({ buffer }) => buffer.byteLength))
    expect(kept.some(({ buffer }) => sent.has(buffer))).toBe(shares)
  }
})

test('responses: a long answer that fails names what was whole before', () => {
  const native = answer(
    block(0, { type: 'text', text: '' }, [{ type: 'text_delta', text: letters(200_000) }]),
    block(1, { type: 'tool_use', id: 't', name: 'f', input: {} }, []),
  )
  const cut = native.subarray(0, native.lastIndexOf('event: message_delta'))
  const events = run([cut], CALL).events
  expect(events.at(-1)?.type as string).toBe('response.failed')
  expect(JSON.stringify(events.at(-1))).toContain(JSON.stringify(letters(200_000)).slice(1, -1))
})
