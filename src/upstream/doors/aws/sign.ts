/**
 * AWS Signature Version 4 of one POST, in a few microseconds and at once. Rules: doors.md "Signatures";
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 */

import type { AwsKeys } from '../../../core/door.ts'
import type { Fields } from '../door.ts'

/** `date`: `20261126T215655Z`. `bodyHash`: SHA-256 in lower hex. */
export type Signed = Readonly<{ host: string; target: string; contentType: string; bodyHash: string; date: string }>

const ALGORITHM = 'AWS4-HMAC-SHA256'
const PURPOSE = 'aws4_request'

export class AwsSigner {
  readonly #region: string
  readonly #service: string
  /** The key of a day, which takes four hashes to make. */
  #derived: Readonly<{ secret: string; day: string; key: Uint8Array }> | undefined

  constructor(region: string, service: string) {
    this.#region = region
    this.#service = service
  }

  /** The fields that prove the call, to be sent beside its other fields. */
  sign({ host, target, contentType, bodyHash, date }: Signed, keys: AwsKeys): Fields {
    const token = keys.sessionToken
    const names = `content-type;host;x-amz-content-sha256;x-amz-date${token === undefined ? '' : ';x-amz-security-token'}`
    const [path = '', query = ''] = splitTarget(target)
    const fields = `content-type:${contentType}\nhost:${host}\nx-amz-content-sha256:${bodyHash}\nx-amz-date:${date}\n`
    const more = token === undefined ? '' : `x-amz-security-token:${token}\n`
    const canonical = `POST\n${pathOf(path)}\n${queryOf(query)}\n${fields}${more}\n${names}\n${bodyHash}`
    const day = date.slice(0, 8)
    const scope = `${day}/${this.#region}/${this.#service}/${PURPOSE}`
    const signature = hmac(this.#keyOf(keys.secretAccessKey, day), `${ALGORITHM}\n${date}\n${scope}\n${sha256(canonical)}`)
    return {
      'x-amz-date': date,
      'x-amz-content-sha256': bodyHash,
      ...(token === undefined ? {} : { 'x-amz-security-token': token }),
      authorization: `${ALGORITHM} Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature.toHex()}`,
    }
  }

  #keyOf(secret: string, day: string): Uint8Array {
    if (this.#derived?.day === day && this.#derived.secret === secret) return this.#derived.key
    const key = [day, this.#region, this.#service, PURPOSE].reduce<Uint8Array>(hmac, Buffer.from(`AWS4${secret}`))
    this.#derived = { secret, day, key }
    return key
  }
}

/** `20261126T215655Z` */
export const amzDate = (unixMs: number): string => new Date(unixMs).toISOString().replace(/[-:]|\.\d+/g, '')

export const sha256 = (data: string | Uint8Array): string => new Bun.CryptoHasher('sha256').update(data).digest('hex')
const hmac = (key: Uint8Array, data: string): Uint8Array => new Bun.CryptoHasher('sha256', key).update(data).digest()

function splitTarget(target: string): readonly [string, string] {
  const at = target.indexOf('?')
  return at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}

/** The path as it is sent is encoded once more, as every service but S3 demands. */
const pathOf = (path: string): string => (/^[A-Za-z0-9\-._~/]*$/.test(path) ? path : path.split('/').map(encoded).join('/'))

/** The parameters of the query are encoded already; they are sorted by name. */
const queryOf = (query: string): string =>
  query === ''
    ? ''
    : query
        .split('&')
        .map((part) => (part.includes('=') ? part : `${part}=`))
        .sort()
        .join('&')

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
