/** Lists that are shown by pages, newest first: their options, and how a page is written. Rules: operator.md "Lists". */

import { type Command, InvalidArgumentError } from 'commander'
import type { Page } from '../ledger/reading/page.ts'
import { readFrom, readTo, wholeNumber } from './arguments.ts'
import { type CommandContext, withJson } from './command-context.ts'
import { EXIT, type ExitCode } from './environment.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

export type PagingOptions = { limit: number; cursor?: string }
export type RangeOptions = { from?: number; to?: number }

/** `cursors`: the form that the cursors of this list have. */
export const withPaging = (command: Command, cursors: RegExp): Command =>
  withJson(command)
    .option('--limit <N>', `rows a page, 1 to ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), LIMIT_DEFAULT)
    .option('--cursor <CURSOR>', 'goes on where the page before ended: its next_cursor', readCursor(cursors))

function readCursor(cursors: RegExp): (text: string) => string {
  return (text) => {
    if (cursors.test(text)) return text
    throw new InvalidArgumentError('Expected the next_cursor of a page of this list.')
  }
}

export const withRange = (command: Command, ofWhat: string): Command =>
  command
    .option('--from <TIME>', `${ofWhat} from this day or time on, in UTC`, readFrom)
    .option('--to <TIME>', `${ofWhat} until the end of this day, or before this time`, readTo)

/** A page as one document, or as a table with the cursor below. */
export function sayPage<Row>(
  context: CommandContext,
  { rows, next }: Page<Row>,
  documentOf: (row: Row) => object,
  table: (rows: readonly Row[]) => string,
  more: object = {},
): ExitCode {
  const document = { data: rows.map(documentOf), ...more, has_more: next !== null, next_cursor: next }
  context.say(document, () => (next === null ? table(rows) : `${table(rows)}\n\nThere is more: --cursor ${next}`))
  return EXIT.ok
}
