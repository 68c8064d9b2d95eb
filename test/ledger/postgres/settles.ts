/** One of the nodes of store.test.ts, a process: settles groups on accounts in an order of its own, and says how often it was in another's way. */

import type { Task } from '../../../src/ledger/task.ts'
import { holdRequest, openMachine, settlement, usd } from '../../support/ledger.ts'

export type Settles = Readonly<{ url: string; bootId: string; groups: number; group: number; accounts: number; seed: number }>

function run({ url, bootId, groups, group, accounts, seed }: Settles): readonly string[] {
  const { ledger, wallets, statesOf, close } = openMachine(url, bootId, true)
  for (const state of statesOf(...Array.from({ length: accounts }, (_, index) => `key_${index}`))) wallets.keys.load(state)
  let random = seed
  const next = (): number => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random
  }
  const problems: string[] = []
  for (let n = 0; n < groups; n++) {
    const tasks = Array.from({ length: group }, (_, place): Task => {
      const requestId = `${bootId}_${n}_${place}`
      wallets.hold(holdRequest(requestId, `key_${next() % accounts}`, usd('0.01')), 0)
      const debit = wallets.settle(settlement(requestId, { input: 10 }))
      if (debit === undefined) throw new Error('not held')
      wallets.settled(requestId)
      return { kind: 'settle', debit }
    })
    if (n === 0) ledger.define(wallets.prices)
    const applied = ledger.apply(tasks)
    if (applied.kind === 'failed') problems.push(applied.problem)
    else
      problems.push(
        ...applied.answers.filter((answer) => answer !== 'settled').map(String),
        ...applied.faults.map(({ problem }) => problem),
      )
  }
  close()
  return problems
}

console.log(JSON.stringify(run(JSON.parse(process.argv[2] ?? '') as Settles)))
process.exit(0)
