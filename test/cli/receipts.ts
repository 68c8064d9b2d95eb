/** A workplace whose ledger has one account with 25 USD and six receipts, req_0 to req_5, one a day. */

import { holdTask, openMachine, settleTask, usd } from '../support/ledger.ts'
import { NOW, Workplace } from './run.ts'

const DAY_MS = 86_400_000

export async function placeWithReceipts(): Promise<Readonly<{ place: Workplace; accountId: string }>> {
  const place = new Workplace()
  const key = await place.json<{ id: string; account_id: string }>('keys', 'create', '--name', 'app', '--balance', '25')
  const machine = openMachine(place.ledgerPath, 'boot-test')
  for (let n = 0; n < 6; n++) {
    machine.ask(holdTask(`req_${n}`, key.id, usd('0.01')))
    machine.ask(settleTask(`req_${n}`, { input: 10 + n, output: n }, { now: NOW + n * DAY_MS }))
  }
  machine.close()
  return { place, accountId: key.account_id }
}
