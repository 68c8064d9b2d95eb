/** Generates the types of what is told of a row: a field for each column, by the moment at which it is known. */

import { type Column, givenOf, type Kind } from './column.ts'

const TYPES: Readonly<Record<Kind, string>> = {
  text: 'string',
  whole: 'number',
  time: 'number',
  ms: 'number',
  picos: 'Picos',
  flag: 'boolean',
  hash: 'Uint8Array',
  thousandths: 'number',
}

/** Told whole, though the tables have a column for each of their fields. */
const PARTS: Readonly<Record<string, string>> = { usage: 'usage: Usage', upstream: 'upstream?: UpstreamCall | undefined' }

export const typeOf = ({ kind, words }: Column): string => words?.type ?? TYPES[kind]
export const docOf = (text: string | undefined): string => (text === undefined ? '' : `/** ${text} */\n`)

export function writeGiven(columns: readonly Column[]): string {
  const fieldsFrom = (from: Column['from']): string => [...new Set(columns.filter((one) => one.from === from).map(fieldOf))].join('\n')
  return `
/** What the end of a request tells of its receipt. */
export type SettledColumns = Readonly<{\n${fieldsFrom('settle')}\n}>

/** With what was known before. */
export type ReceiptGiven = SettledColumns & Readonly<{\n${fieldsFrom('hold')}\n}>
`
}

function fieldOf(column: Column): string {
  const given = givenOf(column)
  const part = PARTS[given.split('.')[0] ?? '']
  if (part !== undefined) return part
  const absent = column.from === 'settle' ? ' | undefined' : ''
  const type = column.isOptional ? `?: ${typeOf(column)}${absent}` : `: ${typeOf(column)}${column.isNullable ? ' | null' : ''}`
  return `${docOf(column.says)}${given}${type}`
}
