/** Writes a credit: its row, its place in the account's chain, and the account's sums. Rules: ledger.md "Chain"; operator.md "Keys and accounts". */

import type { Picos } from '../../core/money.ts'
import { creditText, NO_HASH, nextHash, ownerText, privateText } from '../chain/chain.ts'
import { saltOf } from '../chain/chain-heads.ts'
import type { CreditKind } from '../operation.ts'
import type { Statements } from '../sql/statements.ts'

export type Credit = Readonly<{
  id: string
  /** The account's number. */
  account: number
  kind: CreditKind
  /** Not 0; a top-up adds, a refund takes. */
  amount: Picos
  /** The reference; '': there is none. */
  ref: string
  actor: string
  reason: string
  /** Unix milliseconds. */
  now: number
}>

/** Appends a credit inside the caller's transaction. The caller has checked it; a broken rule of the database is thrown. */
export function appendCredit(statements: Statements, { id, account, kind, amount, ref, actor, reason, now }: Credit): void {
  const { chain } = statements
  const [head] = chain.headsOf([account])
  if (head === undefined) throw new Error('a credit to an account that is not there')
  const seq = head.count + 1
  const secret = privateText(saltOf(statements), [actor, reason])
  const text = creditText({ seq, id, kind, amountPicos: amount, ref, createdAt: now }, ownerText(head.id, chain.lane), secret)
  const hash = nextHash(head.hash?.toString('hex') ?? NO_HASH, text)
  statements.insertCredit.run({ id, account, kind, amount, ref, actor, reason, now, lane: chain.lane, seq, hash })
  statements.creditAccount.run({ account, amount, now })
  chain.setHead(account, seq, hash)
}
