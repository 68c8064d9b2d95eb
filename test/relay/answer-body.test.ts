/** What is sent of answers that nobody reads, in the memory of its account. Rules: requests.md "Memory of bodies". */

import { expect, test } from 'bun:test'
import { Refusal } from '../../src/core/refusal.ts'
import { answerBody, repeatedBody } from '../../src/relay/answer-body.ts'
import { BodyMemory } from '../../src/relay/body-memory.ts'

const MIB = 1024 * 1024
/** That of an account in this pool. */
const SHARE_BYTES = 33 * MIB

const memory = (): BodyMemory =>
  new BodyMemory({ poolBytes: 128 * MIB, limits: () => ({ bodyBytesPerMinute: 1e12 }), keyBalanceOf: () => undefined, now: () => 0 })
const leaseOf = (bodies: BodyMemory, accountId: string) => bodies.lease({ id: `key_${accountId}`, accountId })
const BYTES = new Uint8Array(8 * MIB)

test('an answer that is given again and not read takes its account’s share, and nothing beyond it: the next one is refused', async () => {
  const bodies = memory()
  const sent = Array.from({ length: 20 }, () => repeatedBody(BYTES, leaseOf(bodies, 'acc_1')))
  const unread = sent.filter((body) => body instanceof ReadableStream)
  expect(unread).toHaveLength(4)
  expect(bodies.bytes).toBeLessThanOrEqual(SHARE_BYTES)
  for (const body of sent.slice(4)) expect(body).toMatchObject({ name: 'rateLimited', retryAfterSeconds: 1 })
  expect(leaseOf(bodies, 'acc_2').grow(8 * MIB)).toBeUndefined()
  await unread[0]?.cancel()
  expect(repeatedBody(BYTES, leaseOf(bodies, 'acc_1'))).toBeInstanceOf(ReadableStream)
  expect(repeatedBody(new Uint8Array(1_000), leaseOf(bodies, 'acc_1'))).toHaveLength(1_000)
})

test('one that was read gives everything back; one that was paid for just now is sent though the share is full', async () => {
  const bodies = memory()
  const again = repeatedBody(BYTES, leaseOf(bodies, 'acc_1'))
  if (again instanceof Refusal) throw again
  expect((await new Response(again).bytes()).byteLength).toBe(BYTES.byteLength)
  expect(bodies.bytes).toBe(0)
  const paid = Array.from({ length: 6 }, () => answerBody(BYTES, leaseOf(bodies, 'acc_1')))
  expect(bodies.bytes).toBe(paid.length * BYTES.byteLength)
})
