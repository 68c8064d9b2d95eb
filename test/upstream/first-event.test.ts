/** The look at a stream's first event: it costs no more than that event, and all that was looked at comes to whoever takes the body. */

import { afterAll, expect, spyOn, test } from 'bun:test'
import { withFirstEvent } from '../../src/upstream/first-event.ts'
import { PushedBody } from '../../src/upstream/pushed-body.ts'
import { makeTestModel } from '../support/world.ts'
import { sourceOf, textOf } from './call.ts'

const PING = 'event: ping\ndata: {"type":"ping"}\n\n'
const START = 'event: message_start\ndata: {"type":"message_start","message":{}}\n\n'
const DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n'

const parsed = spyOn(JSON, 'parse')
afterAll(() => parsed.mockRestore())

test('of a burst only what decides is read here: the rest of the piece is read once, by whoever takes the body', async () => {
  const burst = PING + START + DELTA.repeat(500)
  const body = PushedBody.of(Buffer.from(burst))
  parsed.mockClear()
  const reply = await withFirstEvent({ kind: 'reply', upstream: 'north', isEventStream: true, dialect: 'strict', body }, makeTestModel())
  expect(parsed).toHaveBeenCalledTimes(2)
  expect(await textOf(reply)).toBe(burst)
})

test('whoever took the body gets the rest straight from its source, and what looked at its beginning is kept by nobody', async () => {
  const source = sourceOf([])
  const heard: string[] = []
  const sink = { data: (piece: Uint8Array) => void heard.push(`${piece.length}`), end: () => undefined, broken: () => undefined }
  const body = new PushedBody(source)
  const replying = withFirstEvent({ kind: 'reply', upstream: 'north', isEventStream: true, dialect: 'strict', body }, makeTestModel())
  body.data(Buffer.from(START))
  const reply = await replying
  if (reply.kind === 'fault') throw new Error(reply.cause)
  reply.body.take(sink)
  expect(reply.body.handOn(sink)).toBe(source)
  expect(heard).toEqual([`${START.length}`])
})
