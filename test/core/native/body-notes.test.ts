/** What a thread notes of a heavy body is what the loop would find in it. Rules: requests.md "Heavy bodies"; doors.md "Edits". */

import { expect, test } from 'bun:test'
import { type NotedCuts, notesOf, pathsKey } from '../../../src/core/native/body-notes.ts'
import { cutsOf, droppedFields, editBody } from '../../../src/core/native/edit-body.ts'

const PATHS = ['model', 'messages[].content[].cache_control.scope']
const blocks = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ type: 'text', text: `“${index}”`, cache_control: { type: 'ephemeral', scope: 'x' } }))
const bodyOf = (count: number): Buffer =>
  Buffer.from(JSON.stringify({ stream: true, messages: [{ role: 'user', content: blocks(count) }], model: 'opus', max_tokens: 9 }))
const noted = (body: Buffer, paths: readonly string[]): NotedCuts => {
  const [cuts] = notesOf({ body, modelAt: body.indexOf('"opus"') }, [paths]).cuts
  return cuts ?? expect.unreachable()
}

test('few cuts are noted as places in the body, each list of paths under a key of its own', () => {
  const body = bodyOf(3)
  expect(noted(body, PATHS)).toEqual({ ...cutsOf(body, droppedFields(PATHS)), paths: pathsKey(PATHS) })
  expect(noted(body, PATHS).spans).toHaveLength(4)
  expect(noted(body, PATHS).hasMaxTokens).toBe(true)
  expect(noted(body, ['max_tokens']).hasMaxTokens).toBe(false)
  expect(pathsKey(['a', 'b'])).not.toBe(pathsKey(['a']))
})

test('members that stand behind one another are one cut', () => {
  const spans = (text: string) => noted(Buffer.from(text), ['x', 'y']).spans
  expect(spans('{"a":1,"x":1,"y":2,"x":3,"b":1,"y":4}').map(({ start, end }) => [start, end])).toEqual([
    [6, 24],
    [30, 36],
  ])
})

test('a body with many cuts is written anew, and says where the model stands in it', () => {
  const body = bodyOf(100)
  const { spans, made, paths } = noted(body, PATHS.slice(1))
  expect({ spans, paths }).toEqual({ spans: [], paths: PATHS.slice(1).join() })
  expect(String(made?.body)).toBe(String(Buffer.from(editBody(body, droppedFields(PATHS.slice(1)), []))))
  expect(String(made?.body.subarray(made.modelAt, made.modelAt + 6))).toBe('"opus"')
})

test('whether the conversation thinks is noted', () => {
  const thinking = (text: string) => notesOf({ body: Buffer.from(text), modelAt: 0 }, []).thinking
  expect(thinking('{"messages":[]}')).toEqual({ isHeld: false, mayCome: false })
  expect(thinking('{"thinking":{"type":"enabled"},"messages":[]}')).toEqual({ isHeld: false, mayCome: true })
  expect(thinking('{"messages":[{"content":[{"type":"thinking","signature":"s"}]}]}')).toEqual({ isHeld: true, mayCome: true })
})
