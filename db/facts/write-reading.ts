/** Generates a receipt as readers get it: with the names that stand for its numbers, without what the chain alone reads. */

import { type Column, camel, nameOf } from './column.ts'
import { docOf, typeOf } from './write-given.ts'
import { isOfPart } from './write-row.ts'

export function writeReading(columns: readonly Column[]): string {
  const shown = columns.filter(({ shownTo, column }) => shownTo !== 'none' && column !== 'upstream_number')
  return `
/** Times are Unix milliseconds. */
export type ReceiptRow = Readonly<{
  accountId: string
  keyId: string
  keyName: string
  modelId: string
  rates: Rates
  /** The level of the model's prices that it was charged at; 0: the one of any prompt. */
  abovePromptTokens: number
  ${[...new Set(shown.map(fieldOf))].join('\n')}
}>

type ReceiptParts = Readonly<{
  accountId: string
  keyId: string
  keyName: string
  modelId: string
  receipt: typeof receipts.$inferSelect
  price: typeof priceVersions.$inferSelect
  upstream: typeof upstreams.$inferSelect | null
}>

export const receiptOf = ({ receipt, price, upstream, ...names }: ReceiptParts): ReceiptRow => ({
  ...names,
  rates: ratesOf(price),
  abovePromptTokens: price.abovePromptTokens,
  ${[...new Set(shown.map(readValue))].join(',\n')},
})
`
}

function fieldOf(column: Column): string {
  if (isOfPart(column, 'usage')) return 'usage: Usage'
  if (isOfPart(column, 'upstream')) return '/** The call that answered; for operators only. */\nupstream: UpstreamCall | null'
  return `${docOf(column.says)}${nameOf(column)}: ${typeOf(column)}${column.isNullable ? ' | null' : ''}`
}

function readValue(column: Column): string {
  if (isOfPart(column, 'usage')) return 'usage: usageOf(receipt)'
  if (isOfPart(column, 'upstream')) return 'upstream: upstream === null ? null : callOf(upstream, receipt)'
  const stored = `receipt.${camel(column.column)}`
  const value = column.kind === 'thousandths' ? `${stored} / 1000` : column.kind === 'picos' ? `picos(${stored})` : stored
  return `${nameOf(column)}: ${column.isNullable && value !== stored ? `${stored} === null ? null : ${value}` : value}`
}
