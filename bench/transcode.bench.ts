/**
 * What a native event costs on its way to the client: passed through, rewritten to chat, and rewritten to chat the slow way (the tests' oracle: parse,
 * build, stringify). One long stream made from a golden.
 * Run: `bun bench/transcode.bench.ts [events] [rounds]`.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { EventStreamDecoder } from '../src/core/aws-event-stream/decoder.ts'
import type { Call } from '../src/core/format.ts'
import { chatFormat } from '../src/core/formats/chat/format.ts'
import { PassedStream } from '../src/core/formats/chat/pass/stream.ts'
import { NativeStream } from '../src/core/formats/chat/reverse/native-stream.ts'
import type { ChatEcho } from '../src/core/formats/chat/wire.ts'
import { MessagesTranscoder } from '../src/core/formats/messages/stream.ts'
import type { Transcoder } from '../src/core/transcoder.ts'
import { chunkFrame } from '../src/simulator/binary-frames.ts'
import { oracle } from '../test/core/formats/chat/oracle.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../test/support/golden.ts'
import { bestOf, type Contestant, print } from './measure.ts'

const EVENTS = Number(process.argv[2] ?? 50_000)
const ROUNDS = Number(process.argv[3] ?? 25)
const STAMP = { createdSeconds: 1_764_000_000, requestId: 'req_0190' }
const CALL: Call<ChatEcho> = {
  model: GOLDEN_MODEL,
  isStream: true,
  body: new Uint8Array(),
  routing: { conversation: '', modelAt: 0 },
  bounds: GOLDEN_BOUNDS,
  version: '2023-06-01',
  betas: '',
  includesCost: false,
  isStored: true,
  echo: { includesUsageChunk: false, isLegacy: false, customTools: new Set() },
}

/** The golden `text` stream with its deltas repeated: frames, one event each. */
function longStream(): readonly Uint8Array[] {
  const native = readFileSync(join(import.meta.dir, '..', 'test', 'streams', 'text', 'native.sse'), 'utf8')
  const frames = native
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => Buffer.from(`${frame}\n\n`))
  const isDelta = (frame: Buffer): boolean => frame.includes('content_block_delta')
  const deltas = frames.filter(isDelta)
  const first = frames.findIndex(isDelta)
  const repeated = Array.from({ length: EVENTS - frames.length + deltas.length }, (_, index) => deltas[index % deltas.length] as Buffer)
  return [...frames.slice(0, first), ...repeated, ...frames.slice(first + deltas.length)]
}

/** The bytes of the frames in pieces of at most `bytesMax`, as a socket under load gives them. */
function inPieces(frames: readonly Uint8Array[], bytesMax: number): readonly Uint8Array[] {
  const all = Buffer.concat(frames)
  return Array.from({ length: Math.ceil(all.length / bytesMax) }, (_, index) => all.subarray(index * bytesMax, (index + 1) * bytesMax))
}

/** The number of events that went through the transcoder. `decoded`: makes native bytes of a chunk, in the step in which it came, as a gateway does. */
function feed(transcoder: Transcoder, chunks: readonly Uint8Array[], decoded = (chunk: Uint8Array): Uint8Array => chunk): number {
  let written = 0
  for (const chunk of chunks) {
    const { now, last } = transcoder.push(decoded(chunk))
    for (const pieces of [now, last])
      for (const { byteLength } of pieces instanceof Uint8Array ? [pieces] : (pieces ?? [])) written += byteLength
  }
  return written > 0 ? EVENTS : 0
}

function slowly(native: Uint8Array): number {
  for (const frame of oracle(native, CALL, STAMP).frames) Buffer.from(`data: ${frame}\n\n`)
  return EVENTS
}

/** Feeds the same events as binary frames through their decoder. */
function feedBinary(chunks: readonly Uint8Array[]): number {
  const decoder = new EventStreamDecoder({ crc32, onDifference: () => undefined })
  return feed(new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS), chunks, (chunk) => decoder.push(chunk))
}

/** The same text as servers of the chat format send it: OpenAI with padding, or vLLM without. */
function chatStream(isPadded: boolean): readonly Uint8Array[] {
  const words = ['The', ' tide', ' at', ' Brest', ' “turns”', ' at', ' noon', '.']
  const head = { id: 'chatcmpl-A1', object: 'chat.completion.chunk', created: 1_764_000_000, model: 'gpt-x' }
  const chunk = (delta: object, index: number, finish: string | null = null): Uint8Array =>
    Buffer.from(
      `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...(isPadded ? { usage: null, obfuscation: 'x'.repeat(1 + (index % 13)) } : {}) })}\n\n`,
    )
  const deltas = Array.from({ length: EVENTS - 3 }, (_, index) => chunk({ content: words[index % words.length] }, index))
  const usage = JSON.stringify({ ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: EVENTS } })
  return [chunk({ role: 'assistant', content: '' }, 0), ...deltas, chunk({}, 0, 'stop'), Buffer.from(`data: ${usage}\n\ndata: [DONE]\n\n`)]
}

/** Passes a stream of chat on to a chat client. */
const feedChat = (chunks: readonly Uint8Array[]): number => feed(new PassedStream(CALL, STAMP), chunks)

/** Passes a stream of chat to a native client: it is made native, then read as any native stream is. */
function feedReverse(chunks: readonly Uint8Array[]): number {
  const native = new NativeStream({ reasoning: 'auto', id: 'msg_1' })
  return feed(new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS), chunks, (chunk) => native.push(chunk))
}

const openaiFrames = chatStream(true)
const vllmFrames = chatStream(false)
const vllmPieces = inPieces(vllmFrames, 16_384)
const frames = longStream()
const binary = frames.map((frame) => chunkFrame(/^data: (.*)$/m.exec(Buffer.from(frame).toString())?.[1] ?? ''))
const binaryPieces = inPieces(binary, 16_384)
const pieces = inPieces(frames, 16_384)
const whole = Buffer.concat(frames)
const SLOW_WAY = 'chat, the slow way'
const contestants: readonly Contestant[] = [
  { name: 'native pass, an event a chunk', run: () => feed(new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS), frames) },
  { name: 'native pass, 16 KiB chunks', run: () => feed(new MessagesTranscoder(GOLDEN_MODEL, GOLDEN_BOUNDS), pieces) },
  { name: 'native pass, a binary frame a chunk', run: () => feedBinary(binary) },
  { name: 'native pass, binary frames in 16 KiB', run: () => feedBinary(binaryPieces) },
  { name: 'chat, an event a chunk', run: () => feed(chatFormat.transcoder(CALL, STAMP), frames) },
  { name: 'chat, 16 KiB chunks', run: () => feed(chatFormat.transcoder(CALL, STAMP), pieces) },
  { name: 'chat to chat, an event a chunk', run: () => feedChat(vllmFrames) },
  { name: 'chat to chat, padded, an event a chunk', run: () => feedChat(openaiFrames) },
  { name: 'chat to chat, 16 KiB chunks', run: () => feedChat(vllmPieces) },
  { name: 'chat to native, an event a chunk', run: () => feedReverse(vllmFrames) },
  { name: 'chat to native, 16 KiB chunks', run: () => feedReverse(vllmPieces) },
  { name: SLOW_WAY, run: () => slowly(whole) },
]

const best = await bestOf(contestants, ROUNDS)
console.log(`${EVENTS} events, ${whole.length} bytes, best of ${ROUNDS} rounds after 2 for warming up`)
print(best, 'event', SLOW_WAY)
