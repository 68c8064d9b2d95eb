/** The two client headers that reach the upstream, cleaned. Rules: contract.md "Versions"; messages.md "Headers"; native.md "Versions". */

import { SESSION_HEADER } from '../affinity.ts'
import type { Model } from '../catalog.ts'
import type { ReadContext } from '../format.ts'
import { invalid, Refusal } from '../refusal.ts'
import { MAX_COST_HEADER } from '../request-cap.ts'
import { TAG_HEADER } from '../spend-tag.ts'
import { COST_HEADER } from './shown-cost.ts'

/** The version that the contract shows, and the only one that every native upstream knows: translated formats always speak it. */
export const NATIVE_VERSION = '2023-06-01'

/** `anthropic-version` is the vendor's own name; `vendor-version` is how the contract writes it. */
const VERSION_HEADERS = ['anthropic-version', 'vendor-version'] as const
const BETA_HEADER = 'anthropic-beta'
/** All headers that reading a request looks at. */
export const READ_HEADERS = [...VERSION_HEADERS, BETA_HEADER, SESSION_HEADER, COST_HEADER, MAX_COST_HEADER, TAG_HEADER] as const
const VERSION_LENGTH_SHOWN_MAX = 50

type NativeHeaders = Readonly<{ version: string; betas: string }>

export function readHeaders(headers: ReadContext['headers'], model: Model): NativeHeaders | Refusal {
  const version = readVersion(headers)
  if (version instanceof Refusal) return version
  const betas = readBetas(headers.get(BETA_HEADER) ?? '', model)
  if (betas instanceof Refusal) return betas
  return { version: model.rejects.has('versions') ? NATIVE_VERSION : version, betas: model.rejects.has('betas') ? '' : betas }
}

/** A date is forwarded as it is; the upstream knows which dates exist. */
function readVersion(headers: ReadContext['headers']): string | Refusal {
  for (const name of VERSION_HEADERS) {
    const value = (headers.get(name) ?? '').trim()
    if (/^\d{4}-\d{2}-\d{2}$/.test(value)) return value
    if (value !== '') return invalid(name, `"${value.slice(0, VERSION_LENGTH_SHOWN_MAX)}" is not a valid version`)
  }
  return NATIVE_VERSION
}

/** Features that change the price, or that only work with an account of the client's own. */
const DENIED_BETAS = /^(fast-mode|server-side-fallback|fallback-credit|workspace|user-profile|billing-policy)/
const LONG_CONTEXT_BETA = /^context-1m/
const LONG_CONTEXT_TOKENS = 1_000_000

/** A repeated header arrives as one comma-separated list. Names keep their order; repeated names and those that are not tokens are dropped. */
function readBetas(value: string, model: Model): string | Refusal {
  if (!HEADER_TEXT.test(value)) return invalid(BETA_HEADER, 'Input should be a list of names')
  const isAllowed = (name: string): boolean =>
    TOKEN.test(name) && !DENIED_BETAS.test(name) && (!LONG_CONTEXT_BETA.test(name) || model.contextWindow >= LONG_CONTEXT_TOKENS)
  const names = value.split(',').map((name) => name.trim())
  return [...new Set(names.filter(isAllowed))].join(',')
}

const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/
const TOKEN = /^[A-Za-z0-9._-]{1,128}$/
