/** A request for which money is held, and the facts of it that its rows record. Rules: money.md "Holds", "Crashes". */

import { picos } from '../../core/money.ts'
import { NO_USAGE } from '../../core/usage.ts'
import { timeWithin } from '../../core/windows.ts'
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

/** The request begins in the hour whose windows admitted it, whatever this process's clock says: its receipt counts there. */
export function begun(
  key: KeyWallet,
  request: HoldRequest,
  { price, hour, heldAtMs, boot }: Readonly<{ price: number; hour: number; heldAtMs: number; boot: number | undefined }>,
): HeldRequest {
  const { requestId, keyId, modelId, format, isStream, amountPicos, costs, tag } = request
  const startedAt = timeWithin(hour, request.now)
  const hold = { requestId, keyId, accountId: key.account.id, modelId, format, isStream, amountPicos, startedAt }
  return { key, hold, price, heldAtMs, boot, costs, tag, progress: NO_PROGRESS, hasCheckpoint: false }
}

const NO_PROGRESS: Progress = { usage: NO_USAGE, usageSource: 'none' }

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
