/**
 * Secrets of links and sessions: each has 256 random bits. The store keeps only the hash of a link's secret; the secrets of sessions and of password resets are stored
 * as better-auth reads them. Rules: pages.md "Links".
 */

/** 43 characters that need no escaping in an address. */
export const newToken = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')

/** SHA-256; a token cannot be guessed, so a plain hash is enough. */
export const tokenHash = (token: string): Buffer => Buffer.from(Bun.SHA256.hash(token).buffer)

export const newRowId = (): string => Bun.randomUUIDv7().replaceAll('-', '')
