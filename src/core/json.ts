/**
 * Readers of unknown JSON that name the path that is wrong, as the vendor does: "messages.0.content: …".
 * Rules: contract.md "Errors"; messages.md "Refused fields".
 */

import { invalid, type Refusal } from './refusal.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A field that is absent or null counts as not given. */
export const isGiven = (value: unknown): boolean => value !== undefined && value !== null

export const REQUIRED = 'Field required'
export const NOT_A_STRING = 'Input should be a valid string'
export const NOT_AN_ARRAY = 'Input should be a valid array'
export const NOT_AN_INTEGER = 'Input should be a valid integer'
export const NOT_A_BOOLEAN = 'Input should be a valid boolean'
export const NOT_AN_OBJECT = 'Input should be a valid object'

/** Undefined when the value is a boolean or not given; else the refusal. */
export function checkBoolean(value: unknown, path: string): Refusal | undefined {
  return isGiven(value) && typeof value !== 'boolean' ? invalid(path, NOT_A_BOOLEAN) : undefined
}

export function checkArray(value: unknown, path: string): Refusal | undefined {
  return isGiven(value) && !Array.isArray(value) ? invalid(path, NOT_AN_ARRAY) : undefined
}

export function checkInteger(value: unknown, path: string, min: number): Refusal | undefined {
  if (!isGiven(value)) return undefined
  if (!Number.isSafeInteger(value)) return invalid(path, NOT_AN_INTEGER)
  return (value as number) < min ? invalid(path, `Input should be greater than or equal to ${min}`) : undefined
}

export function checkRange(value: unknown, path: string, min: number, max: number): Refusal | undefined {
  if (!isGiven(value)) return undefined
  return typeof value === 'number' && value >= min && value <= max ? undefined : invalid(path, `Input should be between ${min} and ${max}`)
}

/** The first refusal of a list of checks. */
export const firstRefusal = (...checks: readonly (Refusal | undefined)[]): Refusal | undefined =>
  checks.find((check) => check !== undefined)
