/** The hash of a secret, which is all that is stored. A plain hash is enough: a secret has 220 random bits, too many to guess. */

/** SHA-256, 32 bytes. They are written into an array that is made here, because Bun takes seven times as long to make one, or a text. */
export const hashOf = (secret: string): Uint8Array => Bun.SHA256.hash(secret, new Uint8Array(HASH_BYTES)) as Uint8Array

const HASH_BYTES = 32
