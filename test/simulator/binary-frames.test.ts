/** The simulator's binary frames are those of the vendor's own codec, byte by byte. Rules: native.md "Binary frames". */

import { expect, test } from 'bun:test'
import { chunkFrame, exceptionFrame } from '../../src/simulator/binary-frames.ts'
import { exceptionFrame as exceptionOracle, frameHeadersOf, frameOf } from '../support/binary-frames.ts'

test('an event is a frame as the vendor’s codec makes it', () => {
  const json = '{"type":"ping","text":"ü 👩‍👧"}'
  const frame = chunkFrame(json)
  const { headers, payload } = frameHeadersOf(frame)
  expect(headers).toEqual({ ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' })
  expect(Buffer.from(JSON.parse(payload).bytes, 'base64').toString()).toBe(json)
  expect(frame).toEqual(frameOf(headers, payload))
})

test('an exception is, too', () => {
  const fields = { message: 'Too many requests' }
  expect(exceptionFrame('throttlingException', fields)).toEqual(exceptionOracle('throttlingException', fields))
})
