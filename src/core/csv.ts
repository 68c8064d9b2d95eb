/**
 * Comma-separated values (https://www.rfc-editor.org/rfc/rfc4180) that a spreadsheet shows and does not run
 * (https://owasp.org/www-community/attacks/CSV_Injection).
 */

/** `decimal`: a number that the gateway wrote, with more digits than a float has. */
export type Cell = string | number | boolean | null | Readonly<{ decimal: string }>

/** One record with its line break. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`

/** A text that would begin a formula gets an apostrophe before it; null is an empty cell. A number is written by the gateway and never begins a formula. */
function cellOf(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'object') return cell.decimal
  if (typeof cell !== 'string') return String(cell)
  const text = BEGINS_FORMULA.test(cell) ? `'${cell}` : cell
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Spaces may stand before the sign, and some spreadsheets read its full-width form alike. */
const BEGINS_FORMULA = /^[\s\0]*[=+\-@\t\r\n＝＋－＠]/
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/
