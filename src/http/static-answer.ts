/**
 * Answers that are the same for every client until a reload: bytes made once, gzipped once, named by an entity tag. Rules: requests.md "Documents";
 * https://www.rfc-editor.org/rfc/rfc9110#section-8.8.3; https://www.w3.org/TR/CSP3/. Nothing is loaded from another host, no inline style or script is obeyed.
 */

/** `revalidate`: browsers keep it and ask about it each time, so that a reload shows at once. `immutable`: its address changes with its content. */
type Caching = 'revalidate' | 'immutable'

type Bytes = Uint8Array<ArrayBuffer>

/** `text`: the bytes of what is packed already, such as a picture, are sent as they are. `policy`: a Content-Security-Policy other than that of a page that is only read. */
export type Content = Readonly<{ text: string | Bytes; type: string; caching: Caching; policy?: string }>

/** `gzipped`: null where nothing would be gained. */
export type StaticContent = Readonly<{
  bytes: Bytes
  gzipped: Bytes | null
  tag: string
  headers: Readonly<Record<string, string>>
}>

const CACHE_CONTROL: Readonly<Record<Caching, string>> = {
  revalidate: 'public, no-cache',
  immutable: 'public, max-age=31536000, immutable',
}

const POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function makeStatic({ text, type, caching, policy = POLICY }: Content): StaticContent {
  const isText = typeof text === 'string'
  const bytes = isText ? new TextEncoder().encode(text) : text
  return {
    bytes,
    gzipped: isText ? Bun.gzipSync(bytes, { library: 'libdeflate', level: 9 }) : null,
    tag: `W/"${digestOf(text)}"`,
    headers: {
      'content-type': type,
      'cache-control': CACHE_CONTROL[caching],
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    },
  }
}

/** A short text that differs for every other `text`. */
export const digestOf = (text: string | Bytes): string => new Bun.CryptoHasher('sha256').update(text).digest('base64url').slice(0, 22)

/** Answers 304 where the client has the content already. HEAD needs no care: the server leaves the body out. */
export function answerStatic(request: Request, content: StaticContent, ids: Readonly<Record<string, string>>, status = 200): Response {
  const headers = { ...content.headers, ...ids, etag: content.tag }
  if (status === 200 && hasIt(request.headers.get('if-none-match'), content.tag)) return new Response(null, { status: 304, headers })
  const gzipped = takesGzip(request.headers.get('accept-encoding') ?? '') ? content.gzipped : null
  return new Response(gzipped ?? content.bytes, {
    status,
    headers: gzipped === null ? headers : { ...headers, 'content-encoding': 'gzip' },
  })
}

const hasIt = (ifNoneMatch: string | null, tag: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((one) => one.trim() === '*' || weak(one.trim()) === weak(tag))

const weak = (tag: string): string => tag.replace(/^W\//, '')

/** Whether the header names `gzip` or `*` with a weight other than 0. */
const takesGzip = (acceptEncoding: string): boolean =>
  acceptEncoding.split(',').some((one) => /^\s*(?:gzip|x-gzip|\*)\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)[\d.]+\s*)?$/i.test(one))
