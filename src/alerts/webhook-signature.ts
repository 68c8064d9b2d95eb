/** The signature of a webhook: HMAC-SHA256 over id, time and body. Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md. */

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export const newWebhookSecret = (): string => `${PREFIX}${crypto.getRandomValues(Buffer.alloc(SECRET_BYTES)).toString('base64')}`

export type SignedParts = Readonly<{ secret: string; id: string; timestampSeconds: number; body: string }>

/** In the form `v1,BASE64`. */
export function signatureOf({ secret, id, timestampSeconds, body }: SignedParts): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${new Bun.CryptoHasher('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
}
