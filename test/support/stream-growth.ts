/**
 * A process of its own that streams an answer of one long delta and prints by how many MiB its resident memory grew at most; what is written is kept, as a
 * client that is slow makes the gateway keep it. Run: `bun test/support/stream-growth.ts chat [bytes]`. The peak is the kernel's own, so it needs Linux.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { parseBody } from '../../src/core/body.ts'
import type { Format } from '../../src/core/format.ts'
import { chatFormat } from '../../src/core/formats/chat/format.ts'
import { messagesFormat } from '../../src/core/formats/messages/format.ts'
import { responsesFormat } from '../../src/core/formats/responses/format.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { sha256Hex } from '../../src/relay/read-context.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from './golden.ts'

const CHUNK_BYTES = 65_536
const [name, bytes = '8000000'] = process.argv.slice(2)
const format = ([chatFormat, messagesFormat, responsesFormat] as Format<unknown>[]).find((known) => known.name === name)
if (format === undefined) throw new Error(`no format ${name}`)

const EVENTS = [
  {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x'.repeat(Number(bytes)) } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
const native = EVENTS.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))

const request = { model: GOLDEN_MODEL.id, max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'u' }], input: 'u' }
const body = parseBody(Buffer.from(JSON.stringify(request)))
if (body instanceof Refusal) throw new Error(body.message)
const call = format.read(body, { headers: new Headers(), find: () => GOLDEN_MODEL, recall: () => 'unknown' as const, sha256Hex })
if (call instanceof Refusal) throw new Error(call.message)
const transcoder = format.transcoder({ ...call, bounds: GOLDEN_BOUNDS }, { createdSeconds: 1_764_000_000, requestId: 'req_0190' })

Bun.gc(true)
// The peak begins anew: https://docs.kernel.org/filesystems/proc.html, `clear_refs`.
writeFileSync('/proc/self/clear_refs', '5')
const before = peakMib()
const kept: unknown[] = []
for (const frame of native) {
  for (let at = 0; at < frame.length; at += CHUNK_BYTES) kept.push(transcoder.push(frame.subarray(at, at + CHUNK_BYTES)))
}
kept.push(transcoder.finished?.())
console.log((peakMib() - before).toFixed(1))

function peakMib(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
}
