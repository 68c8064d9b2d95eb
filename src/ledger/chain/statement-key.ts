/** The Ed25519 key that signs statements. For a file it is made once beside it, and only its owner may read it; for Postgres it is configured. Rules: ledger.md "Statements". */

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, realpathSync, rmSync, writeSync } from 'node:fs'
import type { Place } from '../place.ts'

export type StatementKey = Readonly<{
  /** SPKI in DER, in base64: 60 characters. */
  publicKey: string
  /** Base64. */
  sign(digest: Uint8Array): string
}>

/** Undefined: the ledger is on Postgres and no key is configured. Throws what the file system says. */
export const statementKeyAt = (place: Place): StatementKey | undefined => {
  if (place.kind === 'sqlite') return statementKeyOf(place.path)
  return place.statementKey === undefined ? undefined : keyFrom(place.statementKey)
}

export const statementKeyPathOf = (ledgerPath: string): string => `${realpathSync(ledgerPath)}.statement-key`

/** The key of the ledger in the file at this path. Throws what the file system says. */
export function statementKeyOf(ledgerPath: string): StatementKey {
  const path = statementKeyPathOf(ledgerPath)
  return keyFrom(readKey(path) ?? makeKey(path))
}

function keyFrom(pem: string): StatementKey {
  const key = createPrivateKey(pem)
  return { publicKey: publicTextOf(key), sign: (digest) => sign(null, digest, key).toString('base64') }
}

/** False also if `publicKey` is no key or `signature` is no signature. */
export function isSignedBy(publicKey: string, digest: Uint8Array, signature: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ed25519' && verify(null, digest, key, Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

const publicTextOf = (key: KeyObject): string => createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64')

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Writes the whole key under another name first, then links it. If two processes make a key at the same time, the first to link wins. */
function makeKey(path: string): string {
  const text = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const unfinished = `${path}.${process.pid}`
  const file = openSync(unfinished, 'w', 0o600)
  writeSync(file, text)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(unfinished, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(unfinished)
  }
  return readFileSync(path, 'utf8')
}

const isCode = (error: unknown, code: string): boolean => error instanceof Error && 'code' in error && error.code === code
