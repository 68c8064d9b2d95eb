/**
 * Statements on the reading thread, a part at a time: between two parts other questions have their turn, and nothing is held open. Rules: ledger.md "Statements",
 * "Reads".
 */

import { statementPieces } from '../chain/statement.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import type { Place } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import type { StatementPart } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'

type Begun = { readonly pieces: Generator<string>; next: number }

/** The most statements that are begun and not read to their end; another one replaces the one that has waited longest. */
const BEGUN_MAX = 16
/** The most lines a part may read: some ten milliseconds. */
const PART_LINES = 400
/** A pause without a line counts as this many lines, because looking at rows costs about as much. */
const PAUSE_LINES = 400

export class StatementReads {
  readonly #db: Connection
  readonly #place: Place
  /** Statements that are begun, by ticket; the one that was asked for last is last. */
  readonly #begun = new Map<string, Begun>()

  /** `place`: the place of the ledger, whose key signs the statements. */
  constructor(db: Connection, place: Place) {
    this.#db = db
    this.#place = place
  }

  part({ ticket, part, ...question }: QuestionOf<'statement'>): StatementPart | undefined {
    const begun = part === 0 ? this.#begin(question) : this.#begun.get(ticket)
    this.#begun.delete(ticket)
    if (begun === undefined || begun.next !== part) return undefined
    const lines: string[] = []
    for (let cost = 0; cost < PART_LINES; ) {
      const { value, done } = begun.pieces.next()
      if (done === true) return { text: lines.join(''), isLast: true }
      if (value === '') cost += PAUSE_LINES
      else cost += lines.push(value) && 1
    }
    begun.next++
    this.#keep(ticket, begun)
    return { text: lines.join(''), isLast: false }
  }

  #begin({ accountId, from, to, madeAt }: Omit<QuestionOf<'statement'>, 'ticket' | 'part'>): Begun | undefined {
    const key = statementKeyAt(this.#place)
    if (key === undefined) return undefined
    const pieces = statementPieces(this.#db, accountId, { from, to }, key, madeAt)
    return pieces && { pieces, next: 0 }
  }

  #keep(ticket: string, begun: Begun): void {
    this.#begun.set(ticket, begun)
    const [oldest] = this.#begun.keys()
    if (this.#begun.size > BEGUN_MAX && oldest !== undefined) this.#begun.delete(oldest)
  }
}
