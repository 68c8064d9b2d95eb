/**
 * Comma-separated values (https://www.rfc-editor.org/rfc/rfc4180) that a spreadsheet shows and does not run
 * (https://owasp.org/www-community/attacks/CSV_Injection).
 */

/** `decimal`: a number of ours with more digits than a float has. */
export type Cell = string | number | boolean | null | Readonly<{ decimal: string }>

/** One record with its line break. */
export const csvLine = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`

/** What would begin a formula gets an apostrophe before it; an empty cell stands for null. A number is ours and begins none. */
function cellOf(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'object') return cell.decimal
  if (typeof cell !== 'string') return String(cell)
  const text = BEGINS_FORMULA.test(cell) ? `'${cell}` : cell
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Also behind spaces, and in the full-width forms that some spreadsheets read alike. */
const BEGINS_FORMULA = /^[\s\0]*[=+\-@\t\r\n＝＋－＠]/
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/
