/** What a request brings from disk is bounded: looks that find nothing, and bytes. Rules: requests.md "Remembered answers". */

import { expect, test } from 'bun:test'
import type { Opened } from '../../src/answers/layout.ts'
import { sealingKeyOf } from '../../src/answers/sealing.ts'
import type { Forgotten } from '../../src/core/format.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { Bringing } from '../../src/relay/remembering.ts'

function bringing(found: Opened | Forgotten, room = Number.POSITIVE_INFINITY) {
  let looks = 0
  let bytes = 0
  const kept = {
    find: () => {
      looks++
      return Promise.resolve(found)
    },
  }
  const count = (more: number): Refusal | undefined => {
    bytes += more
    return bytes > room ? new Refusal('overloaded') : undefined
  }
  return { from: new Bringing(kept, sealingKeyOf('sk-a'), count), looks: () => looks, bytes: () => bytes }
}

const ANSWER: Opened = { text: '', parts: [{ bytes: Buffer.from('"input"') }, { id: 'msg_1', bytes: Buffer.from('"output"') }] }
const textOf = (found: unknown): unknown => (Array.isArray(found) ? found.map((bytes) => Buffer.from(bytes).toString()) : found)

test('after 64 ids that are nowhere the disk is asked no more', async () => {
  const { from, looks } = bringing('unknown')
  for (let n = 0; n < 200; n++) expect(await from.find(`rs_${n}`)).toBe('unknown')
  expect(looks()).toBe(64)
})

test('an answer is brought whole and once: then it and its items are here', async () => {
  const { from, looks, bytes } = bringing(ANSWER)
  expect(textOf(await from.find('resp_1'))).toEqual(['"input"', '"output"'])
  expect(textOf(await from.find('msg_1'))).toEqual(['"output"'])
  expect(textOf(await from.find('resp_1'))).toEqual(['"input"', '"output"'])
  expect([looks(), bytes()]).toEqual([1, 15])
})

test('what has no room is refused, and is not here', async () => {
  const { from, looks } = bringing(ANSWER, 14)
  expect(await from.find('resp_1')).toMatchObject({ name: 'overloaded' })
  expect(await from.find('msg_1')).toMatchObject({ name: 'overloaded' })
  expect(looks()).toBe(2)
})
