/**
 * Native fields that must not be forwarded, since many customers share one upstream account: fields that reach another tenant's objects, and fields at another price than the
 * price list's. They are refused, never stripped. Rules: messages.md "Tenancy and price".
 */

import { isGiven, isObject, type JsonObject } from '../../json.ts'
import type { PlacedBlock } from '../../native/request-blocks.ts'
import { Refusal } from '../../refusal.ts'

/** Undefined when every field may be forwarded. */
export function checkFieldPolicy(json: JsonObject, blocks: readonly PlacedBlock[]): Refusal | undefined {
  const thread = THREAD_FIELDS.find((name) => isGiven(json[name]))
  if (thread !== undefined) return threadUnsupported(thread)
  const field = Object.keys(json).find((name) => isRefused(name, json[name]))
  if (field !== undefined) return unsupported(field)
  return firstUnsupportedTool(json) ?? firstUnsupportedBlock(blocks)
}

const THREAD_FIELDS = ['thread', 'threads', 'thread_id'] as const

/** Fields that are refused whatever their value. */
const REFUSED_FIELDS = new Set([
  'container', // another customer's files; skills
  'skills',
  'fallback_credit_token',
  'billing_policy', // account control
  'workspace_id',
  'user_profile_id',
  'inference_geo', // another price
])

/** Values at which a field that may change the price does not change it. */
const PLAIN_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  speed: ['standard'],
  service_tier: ['auto', 'standard', 'standard_only'],
}

function isRefused(name: string, value: unknown): boolean {
  if (!isGiven(value)) return false
  if (REFUSED_FIELDS.has(name)) return true
  if (name === 'fallbacks') return !Array.isArray(value) || value.length > 0
  return Object.hasOwn(PLAIN_VALUES, name) && PLAIN_VALUES[name]?.includes(value) === false
}

/** Finds a tool that runs another model (an advisor), which would be billed at the price of this model. */
function firstUnsupportedTool(json: JsonObject): Refusal | undefined {
  const tools = Array.isArray(json['tools']) ? json['tools'] : []
  const index = tools.findIndex((tool) => isObject(tool) && isGiven(tool['model']) && tool['model'] !== json['model'])
  return index === -1 ? undefined : unsupported(`tools.${index}.model`)
}

function firstUnsupportedBlock(blocks: readonly PlacedBlock[]): Refusal | undefined {
  for (const { path, block } of blocks) {
    const { type, source } = block
    if (type === 'container_upload') return unsupported(`${path()}: container_upload`)
    if (isObject(source) && (source['type'] === 'file' || isGiven(source['file_id']))) return unsupported(`${path()}.source: file`)
  }
  return undefined
}

const unsupported = (field: string): Refusal => new Refusal('invalidRequest', { message: `${field} is not supported by this service` })

const threadUnsupported = (field: string): Refusal =>
  new Refusal('threadUnsupported', { message: `${field} is not supported by this service`, errorCode: 'thread_unsupported_request' })
