/** A request for which money is held, and the facts of it that its rows record. Rules: money.md "Holds", "Crashes". */

import { picos } from '../../core/money.ts'
import type { Hold, HoldRequest, Progress } from '../ledger.ts'
import type { KeyWallet } from './wallet.ts'

export type HeldRequest = {
  readonly key: KeyWallet
  readonly hold: Hold
  readonly price: number
  readonly heldAtMs: number
  readonly boot: number | undefined
  readonly costs: HoldRequest['costs']
  readonly tag: string | undefined
  progress: Progress
  /** Whether a checkpoint of the request was sent, so that the end of the request must remove the row. */
  hasCheckpoint: boolean
}

/** The facts of the request that its checkpoint and its receipt both record. */
export const factsOf = ({ key, hold, price, boot, tag }: HeldRequest) => ({
  ...(boot === undefined ? {} : { boot }),
  ...(tag === undefined ? {} : { tag }),
  accountNumber: key.account.number,
  keyNumber: key.number,
  price,
  format: hold.format,
  isStream: hold.isStream,
  holdPicos: picos(hold.amountPicos),
  startedAt: hold.startedAt,
})
