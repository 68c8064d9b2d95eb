/**
 * Lines to paste for an account that has just made a key, with the model that it spends most on, else with the cheapest that its keys may use. Rules: pages.md "Keys of an
 * account".
 */

import { Elysia } from 'elysia'
import { DEFAULT_PLAN, type Model } from '../../core/catalog.ts'
import { dayAt } from '../../core/utc.ts'
import { clientLinesOf } from '../../docs/client-lines.ts'
import { exampleModelsOf } from '../../docs/guide.ts'
import { sumSpend, wholeSpend } from '../../ledger/reading/spend.ts'
import type { Site } from '../site.ts'
import { missing } from './answers.ts'
import { callerMacro } from './caller.ts'

const DAYS = 30

export function clientLineRoutes({ world, people }: Pick<Site, 'world' | 'people'>) {
  /** The models that the account spent on lately, the dearest first; none where the ledger cannot be read at this moment. */
  const usedBy = async (client: string, accountId: string): Promise<readonly string[]> => {
    const toDay = dayAt(world.clock.now())
    const spent = await wholeSpend(world.reports, client, { kind: 'spend', accountId, by: 'model', fromDay: toDay - DAYS + 1, toDay })
    if (typeof spent !== 'object') return []
    const sums = [...Map.groupBy(spent, ({ id }) => id)].map(([id, rows]) => ({ id, costPicos: sumSpend(rows).costPicos }))
    return sums.toSorted((a, b) => Number(b.costPicos - a.costPicos)).map(({ id }) => id)
  }
  return new Elysia({ name: 'client lines', prefix: '/cabinet/api/accounts/:accountId/client-lines' })
    .use(callerMacro(people, 'cabinet'))
    .get(
      '',
      async ({ caller, params: { accountId }, set }) => {
        set.headers['cache-control'] = 'no-store'
        const client = `person:${caller.person.id}`
        const account = await world.reports.ask(client, { kind: 'account', accountId })
        if (account === undefined) return missing()
        const plan = typeof account === 'object' ? (account.plan ?? DEFAULT_PLAN) : DEFAULT_PLAN
        const models = exampleModelsOf(world.catalog(), plan)
        const used = await usedBy(client, accountId)
        const example = used.flatMap((id) => models.find((model) => model.id === id) ?? [])[0] ?? cheapestOf(models)
        const [facts, named] = [
          { baseUrl: world.publicUrl(), dashboardUrl: world.dashboardUrl(), catalog: world.catalog() },
          example && { example },
        ]
        return { data: clientLinesOf({ ...facts, limits: world.limits(), ...named }) }
      },
      { member: 'reader' },
    )
}

const cheapestOf = (models: readonly Model[]): Model | undefined =>
  models.toSorted((a, b) => Number(a.rates.input + a.rates.output - b.rates.input - b.rates.output))[0]
