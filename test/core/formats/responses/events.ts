/** Runs the transcoder and reads what it wrote, as a client would. */

import { expect } from 'bun:test'
import type { Call } from '../../../../src/core/format.ts'
import { ResponsesTranscoder } from '../../../../src/core/formats/responses/stream.ts'
import type { ResponsesEcho } from '../../../../src/core/formats/responses/wire.ts'
import type { Refusal } from '../../../../src/core/refusal.ts'
import type { Pushed } from '../../../../src/core/transcoder.ts'
import { inOnePiece } from '../../../support/written.ts'
import { STAMP } from './calls.ts'
import type { WireEvent } from './oracle.ts'

export type Run = Readonly<{ text: string; events: readonly WireEvent[]; fault: Refusal | undefined; transcoder: ResponsesTranscoder }>

/** Feeds the chunks, ends the body, and answers a fault as the relay does. */
export function run(chunks: Iterable<Uint8Array>, call: Call<ResponsesEcho>): Run {
  const transcoder = new ResponsesTranscoder(call, STAMP)
  const out: Uint8Array[] = []
  let fault: Refusal | undefined
  const isOver = (pushed: Pushed): boolean => {
    for (const bytes of [pushed.now, pushed.last]) if (bytes !== undefined) out.push(inOnePiece(bytes))
    fault = pushed.fault
    if (fault !== undefined) out.push(transcoder.fail(fault))
    return pushed.last !== undefined || fault !== undefined
  }
  const isEnded = [...chunks].some((chunk) => isOver(transcoder.push(chunk)))
  if (!isEnded) expect(isOver(transcoder.end('ended'))).toBe(true)
  const text = Buffer.concat(out).toString('utf8')
  return { text, events: readEvents(text), fault, transcoder }
}

/** Every frame is an `event:` line and a `data:` line that agree; numbers run from 0 without gaps. */
export function readEvents(text: string): WireEvent[] {
  expect(text.endsWith('\n\n')).toBe(true)
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((frame, index) => {
      const [event = '', data = '', ...more] = frame.split('\n')
      expect(more).toEqual([])
      expect(data.startsWith('data: ')).toBe(true)
      const body = JSON.parse(data.slice('data: '.length))
      expect(event).toBe(`event: ${body.type}`)
      expect(body.sequence_number).toBe(index)
      return body
    })
}

/** A value with its envelopes opened: two JSON texts of one thinking block may escape its letters differently. */
export function unsealed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unsealed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'encrypted_content' && typeof inner === 'string'
        ? JSON.parse(Buffer.from(inner, 'base64url').toString('utf8'))
        : unsealed(inner),
    ]),
  )
}
