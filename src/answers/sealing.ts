/**
 * Encryption of a kept answer, so that it can be read only with the secret that asked for it: from that secret come a key and a name that reveals nothing. The secret
 * itself is not stored, so neither a thief of the file nor the operator can read a row. Rules: requests.md "Kept answers".
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** 32 bytes that name rows and 32 that seal them. They are in memory with the request, never longer. */
export type SealingKey = Uint8Array

const PART_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'
/** The end is the version of the sealed layout: another layout takes another number, so that no key opens both. */
const INFO = 'tollgate kept answers 1'

/** How many bytes sealing adds. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/** HKDF-SHA256 (https://www.rfc-editor.org/rfc/rfc5869): a secret has 220 random bits, so nothing has to be stretched. */
export const sealingKeyOf = (secret: string): SealingKey => new Uint8Array(hkdfSync('sha256', secret, '', INFO, 2 * PART_BYTES))

/** A name of 32 bytes that says nothing of `id`, which a client may have chosen. */
export const nameOf = (key: SealingKey, id: string): Uint8Array => createHmac('sha256', key.subarray(0, PART_BYTES)).update(id).digest()

/** Takes the bytes piece by piece. `end` gives nonce, ciphertext and tag, which open under this name alone. */
export class Sealer {
  readonly #cipher
  readonly #sealed: Uint8Array[]

  constructor(key: SealingKey, name: Uint8Array) {
    const nonce = randomBytes(NONCE_BYTES)
    this.#cipher = createCipheriv(CIPHER, key.subarray(PART_BYTES), nonce).setAAD(name)
    this.#sealed = [nonce]
  }

  add(bytes: Uint8Array): void {
    this.#sealed.push(this.#cipher.update(bytes))
  }

  end(): Uint8Array {
    return Buffer.concat([...this.#sealed, this.#cipher.final(), this.#cipher.getAuthTag()])
  }
}

/** Undefined: the row was sealed by another secret or under another name, or was changed since. */
export function unseal(key: SealingKey, name: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
  if (sealed.byteLength < SEAL_BYTES) return undefined
  const end = sealed.byteLength - TAG_BYTES
  try {
    const cipher = createDecipheriv(CIPHER, key.subarray(PART_BYTES), sealed.subarray(0, NONCE_BYTES)).setAAD(name)
    cipher.setAuthTag(sealed.subarray(end))
    const opened = cipher.update(sealed.subarray(NONCE_BYTES, end))
    cipher.final()
    return opened
  } catch {
    return undefined
  }
}
