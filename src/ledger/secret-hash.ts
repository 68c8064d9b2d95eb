/** What is stored of a secret. A plain hash is enough: a secret has 220 random bits, so nobody guesses one from its hash. */

/** SHA-256, 32 bytes. */
export const hashOf = (secret: string): Uint8Array => new Uint8Array(Bun.SHA256.hash(secret).buffer)

/** The same as text, for maps. */
export const hashTextOf = (secret: string): string => Bun.SHA256.hash(secret, 'base64')
