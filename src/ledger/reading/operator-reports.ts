/** Questions that scripts of operators ask, as the command line does, and their answers. Rules: operator-api.md "Lists"; operator.md "Lists". */

import type { Hold } from '../ledger.ts'
import type { NodeReport } from '../nodes.ts'
import type { UsageReport, UsageTotal } from './operator-lists.ts'
import type { Page } from './page.ts'
import type { TokenRow } from './token-lists.ts'

type Paging = Readonly<{ after?: string; limit: number }>

export type OperatorQuestion =
  /** The use by day, key and model, newest day first. Days are whole UTC days since 1970, both included. */
  | (Readonly<{ kind: 'usage'; accountId?: string; keyId?: string; fromDay?: number; toDay?: number }> & Paging)
  /** The holds of all nodes, as far as the database has them, oldest first. */
  | Readonly<{ kind: 'checkpoints'; keyId: string | null; accountId: string | null; after: string | null; limit: number }>
  /** Tokens of the operator's API, newest first. */
  | (Readonly<{ kind: 'tokens' }> & Paging)
  /** The nodes of a ledger on Postgres; of a file none. */
  | Readonly<{ kind: 'nodes' }>

export type OperatorFindings = {
  /** `total`: the sums of all pages. */
  usage: Page<UsageReport> & Readonly<{ total: UsageTotal }>
  checkpoints: readonly Hold[]
  tokens: Page<TokenRow>
  nodes: readonly NodeReport[]
}
