/** What Bedrock adds to a whole answer reaches no client, and every other byte does. */

import { expect, test } from 'bun:test'
import { doorOf } from '../../../src/upstream/doors/doors.ts'
import { WithoutDoorFields } from '../../../src/upstream/doors/without-door-fields.ts'
import { NO_EDITS, request } from '../call.ts'

function through(text: string, size: number): string {
  const decoder = new WithoutDoorFields()
  const bytes = Buffer.from(text)
  const out: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const made = decoder.push(bytes.subarray(at, at + size))
    if (made === 'broken') return made
    out.push(made)
  }
  return Buffer.concat([...out, decoder.end()]).toString()
}

const ADDED = '"amazon-bedrock-invocationMetrics":{"inputTokenCount":1,"a":[{"b":"},"}]}'

test.each([
  [`{"type":"message", "content":[ ] ,${ADDED}}`, '{"type":"message", "content":[ ]}'],
  [`{${ADDED}, "type":"message"}`, '{ "type":"message"}'],
  [
    `{"id":"é","amazon-bedrock-trace":"x",${ADDED},"content":[{"text":"say \\"amazon-bedrock-x\\""}]}`,
    '{"id":"é","content":[{"text":"say \\"amazon-bedrock-x\\""}]}',
  ],
  ['{"content":[{"amazon-bedrock-x":1}]}', '{"content":[{"amazon-bedrock-x":1}]}'],
  ['{"type": "message"}', '{"type": "message"}'],
  [`<html>"amazon-bedrock-`, `<html>"amazon-bedrock-`],
  ['', ''],
])('%s', (answer, native) => {
  for (const size of [1, 7, 1_000]) expect(through(answer, size)).toBe(native)
})

test('an answer that is longer than any is broken', () => {
  expect(through('x'.repeat(17 * 1024 * 1024), 1024 * 1024)).toBe('broken')
})

test('the door reads whole answers so', () => {
  const door = doorOf({ kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined }, NO_EDITS, { apiKey: 'k' })
  const reading = door.reading?.(request(), 'application/json', {})
  expect(reading).toEqual({ isEventStream: false, decoder: expect.any(WithoutDoorFields) })
  expect(door.reading?.(request(), 'text/html', {})).toBeUndefined()
})
