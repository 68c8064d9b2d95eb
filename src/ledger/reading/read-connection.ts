/** The thread's side of reads: a connection that cannot write, opened with the first question. Rules: ledger.md "Reads". */

import type { DatabaseProblem } from '../../../db/problem.ts'
import { statementKeyAt } from '../chain/statement-key.ts'
import type { NodeReport } from '../nodes.ts'
import type { Place } from '../place.ts'
import type { Connection } from '../sql/connection.ts'
import type { LedgerFault } from '../thread-messages.ts'
import { type Answers, answersOf, answerTo } from './answers.ts'
import type { Finding, Question } from './reports.ts'

export class ReadConnection {
  readonly #onFault: (fault: LedgerFault) => void
  readonly #connect: (place: Place) => Connection | DatabaseProblem
  readonly #nodesOf: (db: Connection) => readonly NodeReport[]
  #db: Connection | undefined
  #reads: Answers | undefined

  /** `connect` opens the ledger so that nothing can be written. `nodesOf`: the nodes of a ledger on Postgres. */
  constructor(
    connect: (place: Place) => Connection | DatabaseProblem,
    onFault: (fault: LedgerFault) => void,
    nodesOf: (db: Connection) => readonly NodeReport[] = () => [],
  ) {
    this.#connect = connect
    this.#nodesOf = nodesOf
    this.#onFault = onFault
  }

  /** Answers a question. After a failure the ledger is opened anew. */
  answer(place: Place, question: Question): Finding {
    try {
      if (question.kind === 'statementKey') return publicKeyAt(place)
      this.#reads ??= this.#open(place)
      return this.#reads === undefined ? 'unavailable' : answerTo(this.#reads, question)
    } catch (bug) {
      this.#onFault({ problem: `a read of the ledger failed: ${question.kind}`, bug })
      this.close()
      return 'unavailable'
    }
  }

  close(): void {
    this.#db?.close()
    this.#db = this.#reads = undefined
  }

  #open(place: Place): Answers | undefined {
    const db = this.#connect(place)
    if ('problem' in db) {
      this.#onFault({ problem: `the ledger cannot be read: ${db.message}` })
      return undefined
    }
    this.#db = db
    return answersOf(db, place, () => (place.kind === 'postgres' ? this.#nodesOf(db) : []))
  }
}

/** The public key; if none is configured, there are no statements either. */
function publicKeyAt(place: Place): Finding {
  const key = statementKeyAt(place)
  return key === undefined ? 'unavailable' : { publicKey: key.publicKey }
}
