/** Reads for scripts of operators, beside the writer: the lists of the command line. Rules: operator-api.md "Lists"; ledger.md "Reads". */

import type { Hold } from '../ledger.ts'
import type { NodeReport } from '../nodes.ts'
import type { Connection } from '../sql/connection.ts'
import { checkpointedHolds } from './checkpointed-holds.ts'
import { OperatorLists } from './operator-lists.ts'
import type { OperatorFindings } from './operator-reports.ts'
import type { QuestionOf } from './reports.ts'
import { TokenLists } from './token-lists.ts'

export class OperatorReads {
  readonly nodes: () => readonly NodeReport[]
  readonly #db: Connection
  readonly #lists: OperatorLists
  readonly #tokens: TokenLists

  /** `db`: a connection that gives integers as bigints. */
  constructor(db: Connection, nodes: () => readonly NodeReport[]) {
    this.#db = db
    this.nodes = nodes
    this.#lists = new OperatorLists(db)
    this.#tokens = new TokenLists(db)
  }

  usage({ kind: _, after, ...query }: QuestionOf<'usage'>): OperatorFindings['usage'] {
    const asked = { ...query, after }
    return { ...this.#lists.usage(asked), total: this.#lists.usageTotal(asked) }
  }

  checkpoints({ kind: _, ...query }: QuestionOf<'checkpoints'>): readonly Hold[] {
    return checkpointedHolds(this.#db, query)
  }

  tokens({ after, limit }: QuestionOf<'tokens'>): OperatorFindings['tokens'] {
    return this.#tokens.tokens({ after, limit })
  }
}
