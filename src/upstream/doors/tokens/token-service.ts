/** Asks a service of OAuth 2.0 for an access token. Rules: doors.md "Tokens"; https://www.rfc-editor.org/rfc/rfc6749#section-5.1. */

import { isObject } from '../../../core/json.ts'
import type { Lasting } from '../renewed.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
/** The longest life that is believed; an access token does not live a year. */
const LIFE_SECONDS_MAX = 30 * 86_400

/** Never rejects; a text says in a word why there is no token, never in the service's words. */
export async function tokenFrom(url: string, init: RequestInit, timeoutMs: number = TIMEOUT_MS): Promise<Lasting<string> | string> {
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    if (response.status !== 200) {
      await response.body?.cancel()
      return `token status ${response.status}`
    }
    return tokenOf(await someText(response)) ?? 'token malformed'
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? 'token timeout' : 'token unreachable'
  }
}

function tokenOf(text: string): Lasting<string> | undefined {
  const json = parsed(text)
  if (!isObject(json)) return undefined
  const { access_token: token, expires_in: lifeSeconds } = json
  const seconds = Number(lifeSeconds)
  if (typeof token !== 'string' || !/^[!-~]{1,16384}$/.test(token) || !(seconds > 0 && seconds <= LIFE_SECONDS_MAX)) return undefined
  return { value: token, lifeMs: seconds * 1_000 }
}

/** The text of a response; empty where it is longer than any token's answer. */
async function someText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of response.body ?? []) {
    length += piece.length
    if (length > ANSWER_BYTES_MAX) return ''
    pieces.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
