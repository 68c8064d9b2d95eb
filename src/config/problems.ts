/** Mistakes in a configuration: each names the place, what was expected and what stands there, never the value of a secret. Rules: operator.md "Configuration". */

import type { TSchema } from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType } from '@sinclair/typebox/value'

/** `path` is empty when the file as a whole is meant. */
export type ConfigProblem = Readonly<{ path: string; message: string }>
export type ConfigProblems = Readonly<{ file: string | undefined; problems: readonly ConfigProblem[] }>

export const textOfProblem = ({ path, message }: ConfigProblem): string => (path === '' ? message : `${path}: ${message}`)

/** Paths whose value may itself be a secret: a key pasted instead of the variable's name, a password inside an address. */
const HIDDEN = /(^|\.)(\w+_env|base_url)$/

/** Each path at which a value differs from its schema, as one problem. */
export function shapeProblems(schema: TSchema, value: unknown): readonly ConfigProblem[] {
  const problems = new Map<string, ConfigProblem>()
  for (const error of Value.Errors(schema, value)) {
    const path = pathOf(error.path)
    if (!problems.has(path)) problems.set(path, { path, message: messageOf(error, path) })
  }
  return [...problems.values()]
}

function messageOf(error: ValueError, path: string): string {
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const known = Object.keys((error.schema['properties'] as object | undefined) ?? {})
    return known.length > 0 ? `unknown name, expected one of ${known.join(', ')}` : `expected ${error.schema.description}`
  }
  const found = HIDDEN.test(path) && error.value !== undefined ? 'another value' : describe(error.value)
  const expected = error.type === ValueErrorType.ArrayUniqueItems ? 'each value once' : (error.schema.description ?? error.message)
  return `expected ${expected}, found ${found}`
}

/** `/models/2/input` → `models[2].input` */
function pathOf(pointer: string): string {
  const names = pointer.split('/').slice(1)
  return names.reduce((path, name) => {
    const text = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(text)) return `${path}[${text}]`
    return path === '' ? text : `${path}.${text}`
  }, '')
}

/** A value as one short phrase. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Date) return 'a date'
  return typeof value === 'object' ? 'a table' : String(value)
}
