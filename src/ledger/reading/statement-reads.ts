/**
 * Statements on the reading thread, a part at a time: between two parts others have their turn, and nothing is held open. Rules: ledger.md "Statements",
 * "Reads".
 */

import { statementPieces } from '../chain/statement.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import type { Place } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import type { StatementPart } from './account-reports.ts'
import type { QuestionOf } from './reports.ts'

type Begun = { readonly pieces: Generator<string>; next: number }

/** Begun and not taken to their end; one more takes the place of the one that waits longest. */
const BEGUN_MAX = 16
/** The most lines a part may read: some ten milliseconds. */
const PART_LINES = 400
/** Looking at rows without a line costs as much as so many. */
const PAUSE_LINES = 400

export class StatementReads {
  readonly #db: Connection
  readonly #place: Place
  /** By ticket; the one that was asked for last is last. */
  readonly #begun = new Map<string, Begun>()

  /** `place`: of the ledger, whose key it is. */
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
