/** What is kept of an answer is read by the secret that asked and by nothing else. Rules: requests.md "Kept answers". */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { headOf, partsOf } from '../../src/answers/layout.ts'
import { nameOf, SEAL_BYTES, Sealer, sealingKeyOf, unseal } from '../../src/answers/sealing.ts'
import { makeSecret } from '../../src/core/key.ts'

const newKey = () => sealingKeyOf(makeSecret(() => randomBytes(64)))
const TEXT = Buffer.from('the answer of a customer, in clear')

function sealed(key: Uint8Array, name: Uint8Array, bytes: Uint8Array = TEXT): Uint8Array {
  const sealer = new Sealer(key, name)
  for (const byte of bytes) sealer.add(Uint8Array.of(byte))
  return sealer.end()
}

test('the same secret opens it, another one or another name does not, and neither does it when one bit was changed', () => {
  const [key, other] = [newKey(), newKey()]
  const name = nameOf(key, 'request req_1')
  const row = sealed(key, name)
  expect(row.byteLength).toBe(TEXT.byteLength + SEAL_BYTES)
  expect(Buffer.from(unseal(key, name, row) ?? []).toString()).toBe(TEXT.toString())
  expect(unseal(other, name, row)).toBeUndefined()
  expect(unseal(key, nameOf(key, 'request req_2'), row)).toBeUndefined()
  for (let at = 0; at < row.byteLength; at++) {
    const changed = new Uint8Array(row)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(unseal(key, name, changed), `byte ${at}`).toBeUndefined()
  }
  for (const length of [0, 1, SEAL_BYTES - 1, row.byteLength - 1]) expect(unseal(key, name, row.subarray(0, length))).toBeUndefined()
})

test('the same answer sealed twice looks different, and names are those of a secret', () => {
  const [key, other] = [newKey(), newKey()]
  const name = nameOf(key, 'a')
  expect(Buffer.compare(sealed(key, name), sealed(key, name))).not.toBe(0)
  expect(Buffer.compare(name, nameOf(key, 'a'))).toBe(0)
  expect(Buffer.compare(name, nameOf(other, 'a'))).not.toBe(0)
  expect(name.byteLength).toBe(32)
})

test('head and parts come back as they were put, whatever their length and letters', () => {
  const parts = [
    { id: 'msg_é"1', bytes: Buffer.from('one') },
    { bytes: Buffer.alloc(0) },
    { id: 'x', bytes: Buffer.from('{"n":12345678901234567890}') },
  ]
  const head = headOf(
    '{"status":200}',
    parts.map(({ id, bytes: { byteLength } }) => ({ ...(id === undefined ? {} : { id }), byteLength })),
  )
  const opened = partsOf(Buffer.concat([head, ...parts.map(({ bytes }) => bytes)]))
  expect(opened.text).toBe('{"status":200}')
  expect(opened.parts.map(({ id, bytes }) => [id, Buffer.from(bytes).toString()])).toEqual(
    parts.map(({ id, bytes }) => [id, bytes.toString()]),
  )
})
