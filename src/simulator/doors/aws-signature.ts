/**
 * Checks an AWS signature by computing it again from the request that arrived, with code that is independent of the gateway's. Rules: faults.md "Simulator";
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 */

import { createHash, createHmac } from 'node:crypto'

const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
/** The headers that must be signed: without them, a signed request could be sent again to another host or with another body. */
const NEEDED = ['host', 'x-amz-date', 'x-amz-content-sha256']
const SKEW_MS_MAX = 300_000

/** Undefined: the signature is right. */
export function signatureProblem(request: Request, body: Uint8Array, key: Readonly<{ id: string; secret: string }>): string | undefined {
  const [, id, day = '', region = '', service = '', list = '', signature] = FORM.exec(request.headers.get('authorization') ?? '') ?? []
  if (signature === undefined) return 'The request has no signature'
  if (id !== key.id) return 'The security token included in the request is invalid'
  const names = list.split(';')
  const time = request.headers.get('x-amz-date') ?? ''
  const atMs = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(Date.now() - atMs) <= SKEW_MS_MAX) || !time.startsWith(day)) return 'Signature expired'
  const unsigned = NEEDED.find((name) => !names.includes(name))
  if (unsigned !== undefined) return `The header ${unsigned} is not signed`
  const hash = createHash('sha256').update(body).digest('hex')
  if (request.headers.get('x-amz-content-sha256') !== hash) return 'The body is another one than was signed'
  const scope = `${day}/${region}/${service}/aws4_request`
  const canonical = canonicalOf(request, names, hash)
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  let secret: Buffer | string = `AWS4${key.secret}`
  for (const part of [day, region, service, 'aws4_request']) secret = createHmac('sha256', secret).update(part).digest()
  return createHmac('sha256', secret).update(text).digest('hex') === signature ? undefined : 'The signature does not match'
}

function canonicalOf(request: Request, names: readonly string[], hash: string): string {
  const { pathname, searchParams, host } = new URL(request.url)
  const path = pathname.split('/').map(escaped).join('/')
  const query = [...searchParams].map(([name, value]) => `${escaped(name)}=${escaped(value)}`).sort()
  const fields = names.map((name) => `${name}:${name === 'host' ? host : (request.headers.get(name) ?? '').trim()}\n`)
  return [request.method, path, query.join('&'), fields.join(''), names.join(';'), hash].join('\n')
}

const escaped = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte)
      return /[A-Za-z0-9\-._~]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
