/** Generates the code that writes a row: its values in the order of its columns, and the statements of both stores. */

import { type Column, camel, givenOf, nameOf } from './column.ts'

/** A column that is rounded or made before the row is hashed, so that row and chain have the same value. */
export const isRounded = ({ kind, from, column }: Column): boolean =>
  kind === 'ms' || kind === 'thousandths' || (from === 'row' && column !== 'seq' && column !== 'hash')
/** What the call cost us, which is computed apart. */
const isOfCost = ({ from, column }: Column): boolean => from === 'row' && column !== 'day'

export function writeRow(columns: readonly Column[]): string {
  const rounded = columns.filter(isRounded)
  return `
/** What the call that answered cost us. */
export type ReceiptCost = Readonly<{\n${rounded.filter(isOfCost).map(fieldOf).join('\n')}\n}>

/** What of a row is rounded or made. */
export type RoundedReceipt = ReceiptCost & Readonly<{\n${rounded
    .filter((one) => !isOfCost(one))
    .map(fieldOf)
    .join('\n')}\n}>

export const roundedReceipt = (given: ReceiptGiven, day: number, cost: ReceiptCost): RoundedReceipt => ({
  ${rounded.map((one) => (one.column === 'day' ? 'day' : `${camel(one.column)}: ${roundedValue(one)}`)).join(',\n')},
})

/** In the order of the columns of \`INSERT_RECEIPT\` and \`SETTLE\`. \`link\`: its place in the chain. */
export const receiptValues = (
  given: ReceiptGiven,
  rounded: RoundedReceipt,
  numbers: RowNumbers,
  link: Readonly<{ seq: number; hash: Uint8Array }>,
) => [
  ${columns.map(valueFor).join(',\n')},
]
`
}

const fieldOf = (column: Column): string =>
  `${camel(column.column)}: ${column.kind === 'picos' ? 'bigint' : 'number'}${column.isNullable ? ' | null' : ''}`

function roundedValue(column: Column): string {
  if (isOfCost(column)) return `cost.${camel(column.column)}`
  const given = `given.${givenOf(column)}`
  if (column.kind === 'thousandths') return `thousandths(${given})`
  if (!column.isNullable) return `wholeMs(${given})`
  return `${given} === ${column.isOptional ? 'undefined' : 'null'} ? null : wholeMs(${given})`
}

const NUMBERED: Readonly<Record<string, string>> = { price_number: 'price', boot_number: 'boot', upstream_number: 'upstream' }

function valueFor(column: Column): string {
  const number = NUMBERED[column.column]
  if (number !== undefined) return `numbers.${number}`
  if (isRounded(column)) return `rounded.${camel(column.column)}`
  if (column.from === 'row') return `link.${column.column}`
  const given = `given.${givenOf(column).replace('upstream.', 'upstream?.')}`
  if (column.kind === 'flag') return `${given} ? 1 : 0`
  return column.isOptional ? `${given} ?? ${column.default ?? null}` : given
}

/** The names of the columns in SQL. */
const sqlNames = (columns: readonly Column[]): string => columns.map(({ column }) => column).join(', ')

export const writeInsert = (table: string, key: string, columns: readonly Column[]): string => `
/** On SQLite. A row that is there already stays as it is. */
export const INSERT_RECEIPT = \`${wrapped(`INSERT INTO ${table} (${sqlNames(columns)}) VALUES (${columns.map(() => '?').join(', ')}) ON CONFLICT (${key}) DO NOTHING`)}\`
`

type ElementType = 'BIGINT' | 'TEXT' | 'BYTEA'
/** A column of the lists that a function of Postgres takes. */
export type ListColumn = Readonly<{ column: string; type: ElementType }>

const elementOf = ({ kind }: Column): ElementType => (kind === 'text' ? 'TEXT' : kind === 'hash' ? 'BYTEA' : 'BIGINT')
export const listColumns = (columns: readonly Column[]): readonly ListColumn[] =>
  columns.map((one) => ({ column: one.column, type: elementOf(one) }))

/** The parameters of the lists; each list is a column, as the text of an array. */
const listsFrom = (first: number, columns: readonly ListColumn[]): string =>
  columns.map(({ type }, index) => `CAST(CAST(?${first + index} AS TEXT) AS ${type}[])`).join(', ')

export function writeSettle(settle: string, columns: readonly Column[], beside: readonly ListColumn[]): string {
  const lists = [...listColumns(columns), ...beside]
  return `
export const RECEIPT_WIDTH = ${columns.length}

/** On Postgres: lane, boot and epoch of the node, and a list for each column: ${columns.length} of receipts, then ${beside.length} of what they add up to. */
export const SETTLE = \`${wrapped(`SELECT ${settle}(?1, ?2, ?3, ${listsFrom(4, lists)}) AS known`)}\`
`
}

const WIDTH = 130

/** Breaks a text into lines, after commas. */
export function wrapped(text: string): string {
  const lines: string[] = []
  for (const part of text.split(/(?<=,) /)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + part.length >= WIDTH) lines.push(part)
    else lines[lines.length - 1] = `${last} ${part}`
  }
  return lines.join('\n')
}

export const isOfPart = (column: Column, part: string): boolean => nameOf(column).startsWith(`${part}.`)
