/** Protects nodes.md "Notifications": what one node says another understands, within Postgres' bound, and what is not ours is no message. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { NodeMessage } from '../../../src/ledger/nodes.ts'
import { decodeMessage, encodeMessage } from '../../../src/ledger/postgres/messages.ts'
import { keysMessages, messagesOf } from '../../../src/ledger/writing/node-messages.ts'

const number = fc.integer({ min: 0, max: 2 ** 40 })
const keyNumber = fc.option(number, { nil: null })
const stop = fc.constantFrom(null, 'disabled' as const)
const message: fc.Arbitrary<NodeMessage> = fc.oneof(
  fc.record({ kind: fc.constant('keys' as const), lane: number, stop, keyIds: fc.array(fc.string()) }),
  fc.record({ kind: fc.constant('account' as const), lane: number, accountId: fc.string() }),
  fc.record({ kind: fc.constant('credit' as const), lane: number, accountId: fc.string() }),
  fc.record({ kind: fc.constant('giveBack' as const), lane: number, accountNumber: number, keyNumber }),
)

test('a message means to its hearer what it meant to its speaker', () => {
  fc.assert(
    fc.property(message, (said) => {
      expect(decodeMessage(encodeMessage(said))).toEqual(said)
    }),
  )
})

test('what is not a message of this version is ignored', () => {
  const strange = [
    '',
    'x',
    'null',
    '[]',
    '[1]',
    '[1,null]',
    '[2,{"kind":"credit","lane":0,"accountId":"a"}]',
    '[1,{"kind":"new","lane":0}]',
  ]
  const broken = [
    '[1,{"kind":"account","lane":0,"accountId":1}]',
    '[1,{"kind":"keys","lane":0,"stop":"x","keyIds":[]}]',
    '[1,{"kind":"keys","lane":0,"stop":null,"keyIds":[1]}]',
  ]
  const numbers = [
    '[1,{"kind":"giveBack","lane":0,"accountNumber":"1","keyNumber":null}]',
    '[1,{"kind":"echo","lane":0.5,"boot":1,"number":1}]',
  ]
  for (const text of [...strange, ...broken, ...numbers]) expect(decodeMessage(text)).toBeUndefined()
})

test('an account is said as one, however many keys it has', () => {
  const operation = { kind: 'setAccountActive', accountId: 'acc_1', isActive: false, now: 1 } as const
  const said = messagesOf(3, operation, [{ accountId: 'acc_1', stop: 'disabled' }])
  expect(said).toEqual([{ kind: 'account', lane: 3, accountId: 'acc_1' }])
})

test('ten thousand keys are said in texts that Postgres takes, each key once, with its own stop', () => {
  const changes = Array.from({ length: 10_000 }, (_, index) => ({
    keyId: `key_${index}_${'"'.repeat(index % 9)}`,
    stop: index % 3 === 0 ? ('disabled' as const) : null,
  }))
  const messages = keysMessages(3, changes)
  const said = messages.flatMap((one) => (one.kind === 'keys' ? one.keyIds.map((keyId) => ({ keyId, stop: one.stop })) : []))
  expect(said).toHaveLength(changes.length)
  expect(new Set(said.map(({ keyId, stop: why }) => `${keyId} ${why}`))).toEqual(
    new Set(changes.map((change) => `${change.keyId} ${change.stop}`)),
  )
  for (const one of messages) expect(Buffer.byteLength(encodeMessage(one))).toBeLessThan(8_000)
  expect(messages.length).toBeLessThan(60)
  expect(keysMessages(3, [])).toEqual([])
})
