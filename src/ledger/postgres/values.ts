/** Values on their way to Postgres and back, so that they look as SQLite's do: integers and flags as bigints, blobs as Buffers. Rules: ledger.md "Two stores". */

import type { Numbered } from './placeholders.ts'
import type { ArrayType, DriverValue, Rows } from './sync-driver-message.ts'

/** A whole column as one parameter, for `unnest(?1::bigint[])`. */
export class PostgresArray {
  readonly elements: readonly (bigint | string | Uint8Array | null)[] | BigInt64Array
  readonly type: ArrayType

  constructor(elements: PostgresArray['elements'], type: ArrayType) {
    this.elements = elements
    this.type = type
  }
}

/** The values for a statement's `$1`, `$2`, …, taken from a list by place or from one object by name. */
export function driverValues({ parameters, text }: Numbered, given: readonly unknown[]): readonly DriverValue[] {
  const [first] = given
  const values = given.length === 1 && Array.isArray(first) ? (first as readonly unknown[]) : given
  const named = values.length === 1 && isRecord(values[0]) ? values[0] : undefined
  return parameters.map((name, index) => {
    const value = name === undefined ? values[index] : named?.[name]
    if (value === undefined) throw new TypeError(`no value for ${name ?? `parameter ${index + 1}`} of: ${text}`)
    return driverValue(value)
  })
}

/** Whole numbers are sent as int8, so that a statement's plan does not depend on how large they are. */
function driverValue(value: unknown): DriverValue {
  switch (typeof value) {
    case 'bigint':
    case 'string':
      return value
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value
    case 'boolean':
      return value ? 1n : 0n
    default:
      if (value === null || value instanceof Uint8Array) return value
      if (value instanceof PostgresArray) return { elements: value.elements, type: value.type }
      throw new TypeError(`Postgres is given no ${typeof value}`)
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array) && !(value instanceof PostgresArray)

type Reader = (value: unknown) => unknown
const asIs: Reader = (value) => value
const asInteger: Reader = (value) => (typeof value === 'number' || typeof value === 'boolean' ? BigInt(value) : value)
const asBlob: Reader = (value) => (value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value)

/** Readers by the type's number in pg_type. Any other type, such as the numeric that sum() makes of integers, is a bug of the statement, which must CAST. */
const READERS: ReadonlyMap<number, Reader> = new Map([
  ...[16, 20, 21, 23].map((type) => [type, asInteger] as const), // bool, int8, int2, int4
  ...[17].map((type) => [type, asBlob] as const), // bytea
  ...[18, 19, 25, 705, 1043].map((type) => [type, asIs] as const), // char, name, text, unknown, varchar
  ...[700, 701].map((type) => [type, asIs] as const), // float4, float8
  ...[1009, 1016, 2278].map((type) => [type, asIs] as const), // text[], int8[], void
])

/** Changes the rows in place into what SQLite would return. */
export function readRows({ names, types, rows }: Rows): unknown[][] {
  const readers = types.map((type, column) => {
    const reader = READERS.get(type)
    if (reader === undefined) throw new TypeError(`column ${names[column]} has type ${type}, which both stores do not know alike: CAST it`)
    return reader
  })
  return rows.map((row) => row.map((value, column) => (value === null ? null : readers[column]?.(value))))
}

/** If two columns have the same name, the last one counts, as in SQLite. */
export const asRecord = (names: readonly string[], row: readonly unknown[]): Record<string, unknown> => {
  const record: Record<string, unknown> = {}
  for (let column = 0; column < names.length; column++) record[names[column] ?? ''] = row[column]
  return record
}
