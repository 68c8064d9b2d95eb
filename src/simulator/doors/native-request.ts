/** Translates a call in a door's form to the native call. Rules: doors.md "Kinds", "Edits". */

import type { Kind } from '../../core/door.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { Problem } from '../native-error.ts'

type Native = Readonly<{ url: string; body: string | Uint8Array<ArrayBuffer> }>

/** The betas that Bedrock refuses: one of them fails the whole request, as on the cloud. */
const REFUSED_BETAS = /^(?:prompt-caching-|extended-cache-ttl-|files-api-|code-execution-|advanced-tool-use-|memory-2025-08-18$)/
const INVOKE = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream|count-tokens)$/
const VERTEX = /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/anthropic\/models\/([^/]+):(rawPredict|streamRawPredict)$/

export function nativeRequest(kind: Kind, { pathname, origin }: URL, body: Uint8Array<ArrayBuffer>): Native | Problem {
  if (kind === 'bedrock-invoke') return invoked(pathname, origin, body)
  if (kind === 'vertex') return predicted(pathname, origin, body)
  const at = pathname.indexOf('/v1/messages')
  return at === -1 ? noPath(pathname) : { url: `${origin}${pathname.slice(at)}`, body }
}

function invoked(pathname: string, origin: string, bytes: Uint8Array): Native | Problem {
  const [, id, action] = INVOKE.exec(pathname) ?? []
  if (id === undefined) return noPath(pathname)
  const isCount = action === 'count-tokens'
  const body = objectOf(isCount ? countedBody(bytes) : Buffer.from(bytes).toString())
  if (body === undefined) return new Problem(400, 'Malformed input request')
  const refused = refusedBy(body, ['model', 'stream'])
  if (refused !== undefined) return refused
  const betas = Array.isArray(body['anthropic_beta']) ? body['anthropic_beta'] : []
  if (betas.some((beta) => REFUSED_BETAS.test(String(beta)))) return new Problem(400, 'invalid beta flag')
  return native(origin, isCount, { ...body, model: decodeURIComponent(id), stream: action === 'invoke-with-response-stream' })
}

function predicted(pathname: string, origin: string, bytes: Uint8Array): Native | Problem {
  const [, id, action] = VERTEX.exec(pathname) ?? []
  if (id === undefined) return noPath(pathname)
  const body = objectOf(Buffer.from(bytes).toString())
  if (body === undefined) return new Problem(400, 'Malformed input request')
  const isCount = id === 'count-tokens'
  const refused = refusedBy(body, isCount ? [] : ['model'])
  if (refused !== undefined) return refused
  if (!isCount && (body['stream'] === true) !== (action === 'streamRawPredict')) return new Problem(400, `stream: not what ${action} gives`)
  return native(origin, isCount, isCount ? body : { ...body, model: decodeURIComponent(id) })
}

/** Each door wants its version in the body, and refuses fields in the body (`elsewhere`) that the address already states. */
function refusedBy(body: JsonObject, elsewhere: readonly string[]): Problem | undefined {
  if (typeof body['anthropic_version'] !== 'string') return new Problem(400, 'anthropic_version: Field required')
  const name = elsewhere.find((one) => Object.hasOwn(body, one))
  return name === undefined ? undefined : new Problem(400, `${name}: Extra inputs are not permitted`)
}

function native(origin: string, isCount: boolean, { anthropic_version: _v, anthropic_beta: _b, ...body }: JsonObject): Native {
  return { url: `${origin}/v1/messages${isCount ? '/count_tokens' : ''}`, body: JSON.stringify(body) }
}

function countedBody(bytes: Uint8Array): string {
  const { input } = objectOf(Buffer.from(bytes).toString()) ?? {}
  const call = isObject(input) ? input['invokeModel'] : undefined
  return Buffer.from(isObject(call) ? String(call['body']) : '', 'base64').toString()
}

const noPath = (pathname: string): Problem => new Problem(404, `The Tollgate simulator has no ${pathname} behind this door`)

function objectOf(text: string): JsonObject | undefined {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}
