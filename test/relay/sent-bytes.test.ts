/** Protects processes.md "Shared": the bytes that several relays let in at the same moment are owed, whatever is asked meanwhile. */

import { expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { SentBytes, type SentTold, type SentWord } from '../../src/ledger/relays/sent-bytes.ts'
import { BodyMemory } from '../../src/relay/body-memory.ts'

const MIB = 1024 * 1024
const PER_MINUTE = 64 * MIB
const MINUTE_MS = 60_000
const KEY = { id: 'key_1', accountId: 'acc_1' }

/** Relays that have what all have told only when `tell` is called. */
function begin(count: number) {
  const time = { now: 1_000 }
  const words: SentWord[] = []
  const sent = new SentBytes(() => time.now)
  const listeners: ((told: SentTold) => void)[] = []
  const memories = Array.from(
    { length: count },
    () =>
      new BodyMemory({
        ...{
          poolBytes: 8_192 * MIB,
          limits: () => ({ bodyBytesPerMinute: PER_MINUTE }),
          keyBalanceOf: () => undefined,
          now: () => time.now,
        },
        shared: {
          add: (accountId, bytes, perMinute) => void words.push({ kind: 'sent', accountId, bytes, perMinute }),
          onTold: (listener) => void listeners.push(({ accountId, aheadMs }) => listener(accountId, aheadMs)),
        },
      }),
  )
  const relays = listeners.map((send, boot) => ({ boot, connection: { send } }))
  const send = (memory: BodyMemory, bytes: number): Refusal | undefined => {
    const lease = memory.lease(KEY)
    const refusal = lease.grow(bytes)
    lease.release()
    return refusal
  }
  const tell = (): void => {
    for (const word of words.splice(0)) sent.hear(word, relays)
  }
  return { memories, send, tell, time }
}

test('what several relays let in at the same moment is owed, minute after minute, also where single bytes are asked for meanwhile', () => {
  const { memories, send, tell, time } = begin(4)
  const perMinute = Array.from({ length: 13 }, () => {
    let letIn = 0
    for (const memory of memories) for (let turn = 0; turn < 8; turn++) if (send(memory, 16 * MIB) === undefined) letIn += 16
    tell()
    for (const memory of memories) for (let turn = 0; turn < 10; turn++) send(memory, 1)
    for (const memory of memories) for (const bytes of [1_024, 16 * MIB]) expect(send(memory, bytes)).toBeInstanceOf(Refusal)
    time.now += MINUTE_MS
    return letIn
  })
  expect(perMinute).toEqual([256, 0, 0, 0, 256, 0, 0, 0, 256, 0, 0, 0, 256])
})

test('a refused body leaves what its account may send as it was, so that it fits once what is owed is over', () => {
  const { memories, send, tell, time } = begin(2)
  for (const memory of memories) for (let turn = 0; turn < 2; turn++) expect(send(memory, 32 * MIB)).toBeUndefined()
  tell()
  const first = memories[0] as BodyMemory
  const refusals = Array.from({ length: 100 }, () => send(first, 16 * MIB))
  // It is owed for longer, but a client is told of half a minute at most.
  expect(new Set(refusals.map((refusal) => refusal?.retryAfterSeconds))).toEqual(new Set([30]))
  time.now += 75_000 - 1
  expect(send(first, 16 * MIB)).toBeInstanceOf(Refusal)
  time.now += 1
  expect(send(first, 16 * MIB)).toBeUndefined()
})
