/** The request to an upstream: our own credentials, the version, the cleaned betas, and no other header of the client. Rules: faults.md "Upstream calls". */

import { encodeJson } from '../core/bytes/byte-string.ts'
import type { Edit } from '../core/bytes/splice.ts'
import type { ChatBody } from '../core/chat-dialect.ts'
import type { UpstreamRequest } from './upstream.ts'

const USER_AGENT = 'tollgate'

/** What an upstream wants in each request: our key for it, in the vendor's header unless `auth` is `bearer`, and fields of its own, their names in lower case. */
export type Access = Readonly<{ apiKey: string | undefined; auth?: 'x-api-key' | 'bearer'; headers?: Readonly<Record<string, string>> }>

/** The header that carries our key. */
export const keyFields = ({ apiKey, auth }: Access): Readonly<Record<string, string>> =>
  apiKey === undefined ? {} : auth === 'bearer' ? { authorization: `Bearer ${apiKey}` } : { 'x-api-key': apiKey }

/** Names are in lower case; `own` are the upstream's fields, which win. */
export function requestFields(
  { version, betas }: Pick<UpstreamRequest, 'version' | 'betas'>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...(version === '' ? {} : { 'anthropic-version': version }),
    ...(betas === '' ? {} : { 'anthropic-beta': betas }),
    ...own,
  }
}

/** The request for an upstream that may know the model by another id than the body names. `modelAt`: where that name's JSON string begins. */
export function forModel<R extends UpstreamRequest>(request: R & Readonly<{ modelAt: number }>, upstreamModel: string): R {
  const { model, modelAt } = request
  if (upstreamModel === model.upstreamModel) return request
  return { ...request, model: { ...model, upstreamModel }, named: { at: modelAt, as: model.upstreamModel } }
}

/** The edit by which the body names the model as this upstream knows it. Ids are printable ASCII without quotes and backslashes: they stand in JSON as they are. */
export const renaming = ({ named, model }: Pick<UpstreamRequest, 'named' | 'model'>): readonly Edit[] =>
  named === undefined ? [] : [{ start: named.at, end: named.at + named.as.length + QUOTES, text: encodeJson(model.upstreamModel) }]

/** A base address for chat has its `/v1`, so the route begins behind that; versions and betas belong to the native format only. */
const CHAT = { path: '/chat/completions', query: '', version: '', betas: '' } as const

/** The request in one of the model's manners of chat. */
export function inChat<R extends UpstreamRequest>(
  request: R & Readonly<{ modelAt: number }>,
  { body, modelAt }: ChatBody,
  upstreamModel: string,
): R {
  return forModel({ ...request, ...CHAT, body, modelAt }, upstreamModel)
}

const QUOTES = 2
