/**
 * What leaves for an upstream: our own credentials, the version, the cleaned betas, nothing else of the client's headers. Rules: faults.md "Upstream calls".
 */

import type { UpstreamRequest } from './upstream.ts'

const USER_AGENT = 'tollgate'

/** Names in lower case. */
export function requestFields(request: UpstreamRequest, apiKey: string | undefined): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    'anthropic-version': request.version,
    ...(request.betas === '' ? {} : { 'anthropic-beta': request.betas }),
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
  }
}
