/**
 * A client that stops reading keeps nothing of ours: at the write-stall limit its socket is reset, and the kernel holds no bytes for it any more. Looked at
 * from outside, in the kernel's own table of sockets (proc(5)). Rules: requests.md "Backpressure".
 */

import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { endlessStream, frame, nativeMessage, nativeStream, textFrames } from '../support/fake-upstream.ts'
import type { RawConnection } from '../support/raw-client.ts'
import { startStage } from '../support/stage.ts'
import { startWatch, until } from '../support/until.ts'

const WRITE_STALL_MS = 1_000
/** The kernel's limit is a second after ours, and its timers and Bun's are coarse. */
const GONE_MS = WRITE_STALL_MS + 4_000
const CLIENTS = 25
const MEGABYTE = 1024 * 1024

const MODELS = [{ id: 'vendor-sonnet-1' }]
const stage = await startStage({ models: MODELS, limits: { writeStallMs: WRITE_STALL_MS } })
afterAll(() => stage.stop())

const QUESTION = { model: 'vendor-sonnet-1', stream: true } as const
const [start = '', open = '', , ...rest] = textFrames('')
const piece = frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'All work and no play. '.repeat(3_000) } })

type ServerSocket = Readonly<{ client: string; state: string; unsentBytes: number }>

/** The server's sockets to its clients, those without a process too. */
function socketsOfClients(): readonly ServerSocket[] {
  const ours = `:${Number(new URL(stage.gateway.url).port).toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(ours) && state !== '0A')
    .map(([, , client = '', state = '', queues = '']) => ({ client, state, unsentBytes: Number.parseInt(queues.slice(0, 8), 16) }))
}

async function askWithoutReading(question: Parameters<typeof stage.askRaw>[0]): Promise<RawConnection> {
  const raw = await stage.askRaw(question)
  raw.pause()
  return raw
}

for (const [what, question] of [
  ['streams', QUESTION],
  ['answers in one piece', { ...QUESTION, stream: false }],
] as const)
  test(`of 25 clients that do not read their ${what}, no socket is left after the limit, and few bytes wait before it`, async () => {
    const pieces = Array.from({ length: 120 }, () => piece)
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    }
    const text = 'x'.repeat(2 * MEGABYTE)
    stage.play(
      question.stream ? nativeStream(start, open, ...pieces, ...rest) : nativeMessage({ ...message, content: [{ type: 'text', text }] }),
    )
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => askWithoutReading(question)))
    // Where the machine is slow the first of them is reset before the last is stuck, and one may be between two looks.
    const stuck = new Set<string>()
    let unsentBytesMax = 0
    const look = (): boolean => {
      const left = socketsOfClients()
      const full = left.filter(({ unsentBytes }) => unsentBytes > 0)
      for (const { client } of full) stuck.add(client)
      unsentBytesMax = Math.max(
        unsentBytesMax,
        full.reduce((sum, { unsentBytes }) => sum + unsentBytes, 0),
      )
      return stuck.size > 0 && left.every(({ client }) => stuck.has(client))
    }
    await until(look, 'every client to be stuck or reset')
    using watch = startWatch()
    expect(unsentBytesMax).toBeLessThan(CLIENTS * MEGABYTE)
    await until(() => socketsOfClients().length === 0 || watch.ms() > GONE_MS)
    expect(socketsOfClients()).toEqual([])
    for (const client of clients) client.reset()
    await stage.gateway.idle()
  }, 180_000)

test('a client that reads little by little is not reset, however long it takes', async () => {
  // A pause is far below the limit, and all of them are far above it.
  await using patient = await startStage({ models: MODELS, limits: { writeStallMs: 3_000 } })
  patient.play(endlessStream(start, open, piece))
  using raw = await patient.askRaw(QUESTION)
  for (let pause = 0; pause < 60; pause++) {
    raw.pause()
    await Bun.sleep(100)
    const size = raw.received().length
    raw.resume()
    await until(() => raw.received().length > size || raw.isClosed(), 'more of the answer')
  }
  expect(raw.isClosed()).toBe(false)
}, 180_000)
