/** The ledger as the command line reads it beside a running gateway, on a read-only connection of its own. Rules: ledger.md "One writer". */

import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { type DatabaseProblem, problemOf } from '../../db/problem.ts'
import { statementFindings } from './chain/against-statement.ts'
import type { Difference } from './chain/difference.ts'
import { type StatementRange, statementLines } from './chain/statement.ts'
import type { StatementKey } from './chain/statement-key.ts'
import type { Hold } from './ledger.ts'
import type { NodeReport } from './nodes.ts'
import { openForReading, readProblem } from './open-for-reading.ts'
import type { Place, ReadablePlace } from './place.ts'
import { nodesOf } from './postgres/nodes-report.ts'
import { differencesInDatabase } from './postgres/verify.ts'
import { AccountLists, type ReportProblem } from './reading/account-lists.ts'
import { type CheckpointsQuery, checkpointedHolds } from './reading/checkpointed-holds.ts'
import { CodeLists } from './reading/code-lists.ts'
import { type ExplorePart, type ExploreQuery, explorePart } from './reading/explore-reads.ts'
import { ImportedKeys } from './reading/imported-keys.ts'
import { type MarginPart, type MarginQuery, marginPart } from './reading/margin-reads.ts'
import { OperatorLists } from './reading/operator-lists.ts'
import { OperatorReceipts } from './reading/operator-receipts.ts'
import { type RepricedPart, type RepriceQuery, repricedPart } from './reading/repriced-receipts.ts'
import { type TagQuery, type TagSums, tagSums } from './reading/tag-sums.ts'
import { TokenLists } from './reading/token-lists.ts'
import { type BooksCall, type BooksQuery, type BooksRow, upstreamBooks, upstreamCalls } from './reading/upstream-books.ts'
import type { Connection } from './sql/connection.ts'
import { differencesInFile } from './sqlite/verify.ts'

export function openReport(place: ReadablePlace): Report | DatabaseProblem {
  const db = openForReading(place)
  if ('problem' in db) return db
  try {
    return new Report(db, place)
  } catch (error) {
    // The error may come from preparing the statements, which reads pages of the file for the first time.
    db.close()
    return readProblem(error, place)
  }
}

export class Report {
  readonly accounts: AccountLists
  readonly lists: OperatorLists
  readonly codes: CodeLists
  readonly receipts: OperatorReceipts
  readonly tokens: TokenLists
  readonly imported: ImportedKeys
  readonly #db: Connection
  readonly #place: Place

  constructor(db: Connection, place: Place) {
    this.#db = db
    this.#place = place
    this.accounts = new AccountLists(db)
    this.lists = new OperatorLists(db)
    this.codes = new CodeLists(db)
    this.receipts = new OperatorReceipts(db)
    this.tokens = new TokenLists(db)
    this.imported = new ImportedKeys(db)
  }

  /** The nodes of a ledger on Postgres; a file has one writer and no nodes. */
  nodes(): readonly NodeReport[] {
    return nodesOf(this.#db)
  }

  /** Calls to upstreams, by bucket of time, model and cause. */
  upstreamBooks(query: BooksQuery): readonly BooksRow[] {
    return upstreamBooks(this.#db, query)
  }

  /** The calls of these buckets, `limit` each. */
  upstreamCalls(query: BooksQuery, buckets: readonly number[], limit: number): readonly BooksCall[] {
    return upstreamCalls(this.#db, query, buckets, limit)
  }

  /** Past receipts under other prices: a part, which says where the next one goes on. */
  repriced(query: RepriceQuery): RepricedPart {
    return repricedPart(this.#db, query)
  }

  /** A part of what was charged and what it cost us. */
  margin(query: MarginQuery): MarginPart | undefined {
    return marginPart(this.#db, query)
  }

  /** A part of what was used by what is asked. */
  explore(query: ExploreQuery): ExplorePart | undefined {
    return explorePart(this.#db, query)
  }

  /** What was spent by tag. */
  tagSums(query: TagQuery): readonly TagSums[] {
    return tagSums(this.#db, query)
  }

  /** The holds of all nodes, except those of the last second. */
  checkpoints(query: CheckpointsQuery): readonly Hold[] {
    return checkpointedHolds(this.#db, query)
  }

  verify(): readonly Difference[] {
    return this.#place.kind === 'sqlite' ? differencesInFile(this.#db) : differencesInDatabase(this.#db)
  }

  /** The lines of a signed statement, made as they are read. `account`: the account's id. */
  statement(account: string, range: StatementRange, key: StatementKey, madeAt: number): Iterable<string> {
    return statementLines(this.#db, account, range, key, madeAt)
  }

  /** How the ledger differs from a statement. Each call of `lines` gives all lines of the statement, which was found sound. */
  against(lines: () => Iterable<Uint8Array>): readonly Difference[] {
    return statementFindings(this.#db, lines)
  }

  /** On a file: makes a whole copy and verifies it; if it cannot be made, nothing is left at `file`. An existing `file` is refused. */
  backup(file: string): readonly Difference[] | ReportProblem {
    if (existsSync(file)) return { problem: 'unwritable', message: `${file} exists; a backup never replaces a file` }
    try {
      this.#db.query('VACUUM INTO ?').run(file)
      flush(file)
    } catch (error) {
      if (existsSync(file)) rmSync(file)
      const ofCopy = problemOf(error, file)
      // The damage is in the ledger that was read, not in the copy.
      return ofCopy.problem === 'corrupt' ? problemOf(error, this.#place.path) : ofCopy
    }
    const copy = openReport({ kind: 'sqlite', path: file })
    if ('problem' in copy) return copy
    const found = copy.verify()
    copy.close()
    return found
  }

  close(): void {
    this.#db.close()
  }
}

function flush(file: string): void {
  const handle = openSync(file, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
