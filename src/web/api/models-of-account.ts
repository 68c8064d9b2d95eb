/** The models that an account's keys may use: those of the plan of its new keys, and of the plans that its keys have. Rules: requests.md "Models". */

import { DEFAULT_PLAN, modelsOf } from '../../core/catalog.ts'
import type { World } from '../../world.ts'

/** Their ids, newest first; none where the ledger cannot be read at this moment. */
export async function modelsOfAccount({ reports, catalog }: World, client: string, accountId: string): Promise<readonly string[]> {
  const found = await reports.ask(client, { kind: 'accountPlans', accountId })
  if (typeof found !== 'object') return []
  const plans = new Set([found.ofNewKeys ?? DEFAULT_PLAN, ...found.ofKeys])
  return [...new Set([...plans].flatMap((plan) => modelsOf(catalog(), plan).map(({ id }) => id)))]
}
