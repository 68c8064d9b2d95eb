/** What a relay tells of its wallets when it joins: that is its lease from then on. Rules: processes.md "Admission". */

import { type Picos, picos } from '../../core/money.ts'
import type { RelayRuns } from '../lease-move.ts'
import type { AccountWallet, KeyWallet } from './wallet.ts'

/** What running requests hold, plus what ended requests cost whose settle is not acknowledged. Only keys with a limit or a budget have leases of their own. */
export function runsOf(accounts: Iterable<AccountWallet>, keys: Iterable<KeyWallet>): RelayRuns {
  const all = [...accounts]
  const limited = [...keys].filter(({ limitPicos, budgets }) => limitPicos !== null || budgets.length > 0)
  return {
    accounts: all.map((account) => [account.number, runs(account)] as const).filter(([, amount]) => amount > 0n),
    plans: all
      .flatMap((account) => [...account.plans.values()].map((plan) => [account.number, plan.name, runs(plan)] as const))
      .filter(([, , amount]) => amount > 0n),
    keys: limited.map((key) => [key.number, runs(key)] as const).filter(([, amount]) => amount > 0n),
  }
}

const runs = ({ heldPicos, unsettledPicos }: Readonly<{ heldPicos: bigint; unsettledPicos: bigint }>): Picos =>
  picos(heldPicos + unsettledPicos)
