/** Requests that Eden does not type: those to the sign-in routes of cabinet and console. Answers are values, as those of `ask`. */

import { type AskResult, ask } from './ask.ts'

type Sent = Exclude<unknown, Response>

/** Without `body` the request is a GET, unless `method` says otherwise. */
export const send = <T = Sent>(path: string, body?: unknown, method?: 'DELETE' | 'PATCH'): Promise<AskResult<T>> =>
  ask<T>(answerTo<T>(path, body, method)) as Promise<AskResult<T>>

/** The answer in Eden's form. An answer without a body is `{}`. */
export async function answerTo<T>(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
  const init = body === undefined ? { method } : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(path, init)
  const value: unknown = await response.json().catch(() => ({}))
  return response.ok ? { data: value as T, error: null, response } : { data: null, error: { status: response.status, value }, response }
}
