/** The edit of a heavy body is splicing: the loop looks at none of its bytes, and copies none. Rules: doors.md "Edits"; requests.md "Heavy bodies". */

import { describe, expect, test } from 'bun:test'
import type { DoorSettings } from '../../../src/core/door.ts'
import { notesOf } from '../../../src/core/native/body-notes.ts'
import { hasThinking, mightThink } from '../../../src/upstream/bound-thinking.ts'
import { doorOf, droppedPaths } from '../../../src/upstream/doors/doors.ts'
import { editedBy } from '../../../src/upstream/doors/request-edit.ts'
import { forModel } from '../../../src/upstream/native-request.ts'
import type { UpstreamRequest } from '../../../src/upstream/upstream.ts'
import { makeTestModel } from '../../support/world.ts'
import { NO_EDITS, request } from '../call.ts'

const google = { by: 'metadata', tokenUrl: undefined } as const
const DOORS: readonly DoorSettings[] = [
  { kind: 'native' },
  { kind: 'bedrock', proof: { by: 'key' } },
  { kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined },
  { kind: 'vertex', project: 'p', location: 'eu', proof: google, apiVersion: undefined },
]
const EDITS = { ...NO_EDITS, dropFields: ['tools[].defer_loading'] }
const NAMED = 'vendor-sonnet-1'
const bodyOf = (tools: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: NAMED,
      stream: true,
      tools: Array.from({ length: tools }, (_, index) => ({ name: `t${index}`, defer_loading: true })),
      messages: [{ role: 'user', content: 'word '.repeat(1_000) }],
    }),
  )
const asked = (body: Uint8Array, more: Partial<UpstreamRequest> = {}): UpstreamRequest => {
  const found = request({ model: makeTestModel({ upstreamModel: NAMED }), body, isStream: true, ...more })
  return forModel({ ...found, modelAt: '{"model":'.length }, 'us.anthropic.claude-x')
}
const sentBy = async (door: DoorSettings, call: UpstreamRequest): Promise<readonly Uint8Array[]> =>
  await editedBy(doorOf(door, EDITS, { apiKey: 'k' }), call).sent
const notes = (door: DoorSettings, body: Uint8Array) =>
  notesOf({ body, modelAt: '{"model":'.length }, [droppedPaths({ door, edits: EDITS })])

describe.each(DOORS)('%p', (door) => {
  test.each([3, 300])('with notes it sends what it sends without them, of %p tools', async (tools) => {
    const body = bodyOf(tools)
    const plain = await sentBy(door, asked(body))
    const noted = await sentBy(door, asked(body, { notes: notes(door, body) }))
    expect(Buffer.concat(noted).toString()).toBe(Buffer.concat(plain).toString())
    expect(Buffer.concat(noted).toString()).not.toContain('defer_loading')
    expect(noted.length).toBeLessThan(20)
    const namesModel = !droppedPaths({ door, edits: EDITS }).includes('model')
    for (const sent of [plain, noted])
      expect(JSON.parse(Buffer.concat(sent).toString()).model).toBe(namesModel ? 'us.anthropic.claude-x' : undefined)
  })

  test('no byte of a body with notes is looked at, and none of it is copied', async () => {
    const body = bodyOf(3)
    // In a body without a single bracket a search would find nothing.
    const blank = new Uint8Array(body.length).fill(0x20)
    const sent = await sentBy(door, asked(blank, { notes: notes(door, body) }))
    const real = await sentBy(door, asked(body))
    expect(sent.map(({ length }) => length)).toEqual(real.map(({ length }) => length))
    const ofBody = sent.filter(({ buffer }) => buffer === blank.buffer)
    expect(ofBody.length).toBeGreaterThan(3)
    expect(sent.filter((piece) => !ofBody.includes(piece)).reduce((sum, { length }) => sum + length, 0)).toBeLessThan(100)
  })
})

test('the model’s other name is spliced in without a copy, too', async () => {
  const body = bodyOf(1)
  const sent = await editedBy({}, asked(body)).sent
  expect(JSON.parse(Buffer.concat(sent).toString())).toMatchObject({ model: 'us.anthropic.claude-x' })
  expect(sent.map(({ buffer }) => buffer === body.buffer)).toEqual([true, false, true])
})

test('fields that were not noted, such as after a reload, are dropped all the same', async () => {
  const body = bodyOf(2)
  const sent = await sentBy({ kind: 'native' }, asked(body, { notes: notesOf({ body, modelAt: 0 }, [['stream']]) }))
  expect(Buffer.concat(sent).toString()).not.toContain('defer_loading')
})

test('whether a heavy conversation thinks is read from its notes', () => {
  const body = new Uint8Array(8)
  for (const isHeld of [true, false]) {
    const call = { body, notes: { cuts: [], thinking: { isHeld, mayCome: !isHeld } } }
    expect([hasThinking(call), mightThink(call)]).toEqual([isHeld, !isHeld])
  }
})
