/**
 * An upstream's error as it stands in a body or an event. The vendor's shape is one of several: other servers of the native format answer in OpenAI's, in
 * FastAPI's, or in their own. Rules: native.md "Errors".
 */

import { isObject, type JsonObject } from '../json.ts'

export type NativeError = Readonly<{
  /** The error's type; '' where the error gives none. */
  type: string
  /** A second name, or the status, from servers that give one: 'context_length_exceeded', '400'. */
  code: string
  message: string
  /** `details.error_code`, by which the vendor's SDKs throw typed errors; undefined where the error has none. */
  errorCode: string | undefined
  /** Tokens of the prompt and of the window, where the error has them as numbers. */
  promptTokens: number | undefined
  contextTokens: number | undefined
}>

const ERROR_CODE = /^[a-z][a-z0-9_]{0,63}$/

/** The error in a JSON value of any of the known shapes; undefined where there is none. */
export function readNativeError(body: unknown): NativeError | undefined {
  if (!isObject(body)) return undefined
  const error = errorIn(body)
  if (error === undefined) return undefined
  const details = isObject(error['details']) ? error['details'] : {}
  const errorCode = text(details['error_code'])
  return {
    type: text(error['type']),
    code: text(error['code']),
    message: text(error['message']),
    errorCode: ERROR_CODE.test(errorCode) ? errorCode : undefined,
    promptTokens: tokens(error['n_prompt_tokens']),
    contextTokens: tokens(error['n_ctx']),
  }
}

/** The error in the body of an answer, which may be JSON or an event stream; undefined where neither has one. */
export function errorOfBody(body: string): NativeError | undefined {
  const whole = readNativeError(parse(body))
  if (whole !== undefined) return whole
  for (const [, data = ''] of body.matchAll(DATA_LINE)) {
    const error = readNativeError(parse(data))
    if (error !== undefined) return error
  }
  return undefined
}

const DATA_LINE = /^data:(.*)$/gm

/** `{error: {…}}`, `{error: "…"}`, the error itself, or FastAPI's `{detail}`. */
function errorIn(body: JsonObject): JsonObject | undefined {
  const { error, detail } = body
  if (isObject(error)) return error
  if (typeof error === 'string' && error !== '') return { message: error }
  if (typeof detail === 'string' || Array.isArray(detail)) return { message: typeof detail === 'string' ? detail : fieldErrors(detail) }
  return typeof body['message'] === 'string' && body['message'] !== '' ? body : undefined
}

/** FastAPI's list of wrong fields, each with what is wrong with it. The list also quotes what was sent, which is left out. */
const fieldErrors = (found: readonly unknown[]): string =>
  found
    .filter(isObject)
    .map(({ loc, msg }) => `${pathOf(loc)}: ${text(msg)}`)
    .join('; ')

const pathOf = (loc: unknown): string =>
  (Array.isArray(loc) ? loc : [])
    .map(text)
    .filter((part) => part !== 'body' && part !== '')
    .join('.')

const text = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '')
const tokens = (value: unknown): number | undefined => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : undefined)

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
