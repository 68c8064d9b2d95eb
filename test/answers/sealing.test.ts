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

test('a row is AES-256-GCM under HKDF-SHA256 of the secret: another implementation opens it, so that a newer version does', async () => {
  const secret = makeSecret(() => randomBytes(64))
  const key = sealingKeyOf(secret)
  const name = nameOf(key, 'request req_1')
  const row = sealed(key, name)
  const { subtle } = globalThis.crypto
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: Buffer.from('tollgate kept answers 1') }
  const bits = await subtle.deriveBits(hkdf, await subtle.importKey('raw', Buffer.from(secret), 'HKDF', false, ['deriveBits']), 512)
  const aes = await subtle.importKey('raw', bits.slice(32), 'AES-GCM', false, ['decrypt'])
  const gcm = { name: 'AES-GCM', iv: Buffer.from(row.subarray(0, 12)), additionalData: Buffer.from(name) }
  expect(Buffer.from(await subtle.decrypt(gcm, aes, Buffer.from(row.subarray(12)))).toString()).toBe(TEXT.toString())
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
