/** A request for which money is held, and what its rows say of it. Rules: money.md "Holds", "Crashes". */

import { picos } from '../../core/money.ts'
import type { Hold, Progress } from '../ledger.ts'
import type { InFlightCheckpoint } from '../task.ts'
import type { KeyWallet } from './wallet.ts'

export type HeldRequest = {
  readonly key: KeyWallet
  readonly hold: Hold
  readonly price: number
  readonly heldAtMs: number
  readonly boot: number | undefined
  progress: Progress
  /** A checkpoint of it was sent, so its end must take the row away. */
  hasCheckpoint: boolean
}

/** In its checkpoint and in its receipt. */
export const factsOf = ({ key, hold, price, boot }: HeldRequest) => ({
  ...(boot === undefined ? {} : { boot }),
  accountNumber: key.account.number,
  keyNumber: key.number,
  price,
  format: hold.format,
  isStream: hold.isStream,
  holdPicos: picos(hold.amountPicos),
  startedAt: hold.startedAt,
})

export const checkpointOf = (request: HeldRequest): InFlightCheckpoint => ({
  requestId: request.hold.requestId,
  ...factsOf(request),
  ...request.progress,
})
