/** Reads columns of another gateway's row, which may be missing in its version, or null. */

export type Row = Readonly<Record<string, unknown>>

/** '' where there is none. A number is given as its digits. */
export function textIn(row: Row, column: string): string {
  const value = row[column]
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? value : ''
}

/** Undefined: there is no finite number. */
export function numberIn(row: Row, column: string): number | undefined {
  const text = textIn(row, column)
  const number = text === '' ? Number.NaN : Number(text)
  return Number.isFinite(number) ? number : undefined
}

/** Undefined: there is no whole number. */
export function wholeIn(row: Row, column: string): bigint | undefined {
  const text = textIn(row, column)
  return /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined
}

/** Databases write a flag as a boolean or as 1. */
export function flagIn(row: Row, column: string): boolean {
  const value = row[column]
  return value === true || value === 1 || value === 1n || value === '1' || value === 't'
}

/** The texts of a list; empty where there is none. */
export function textsIn(row: Row, column: string): readonly string[] {
  const value = row[column]
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** Whether a list or an object has anything in it. */
export function isFilled(row: Row, column: string): boolean {
  const value = row[column]
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}
