/** The SHA-256 of a body: of a small one at once, of a larger one on a thread beside. Rules: requests.md "Repeated requests", "Heavy bodies". */

import type { KeyRecord } from '../core/key.ts'
import { Refusal } from '../core/refusal.ts'
import type { BodyReader } from './body-reader.ts'
import { type Pieces, UNREADABLE } from './read-body.ts'

/** It takes the loop half a millisecond a MiB. */
const SMALL_BYTES_MAX = 256 * 1024

/** `pieces`: the body, since those that were given may be gone. */
export type Hashed = Readonly<{ hash: Uint8Array; pieces: Pieces }>

export async function hashBody(
  bodyReader: BodyReader,
  { signal }: Pick<Request, 'signal'>,
  { accountId }: Pick<KeyRecord, 'accountId'>,
  pieces: Pieces,
): Promise<Hashed | Refusal> {
  const [first = new Uint8Array(), ...more] = pieces
  if (more.length === 0 && first.byteLength <= SMALL_BYTES_MAX)
    return { hash: Bun.SHA256.hash(first, new Uint8Array(32)) as Uint8Array, pieces }
  const hashed = await bodyReader.hash(pieces, { accountId, signal })
  // As for one that left while it sent its body.
  if (hashed === 'left') return UNREADABLE
  return hashed instanceof Refusal ? hashed : { hash: hashed.hash, pieces: [hashed.bytes] }
}
