/** The upstreams that no margin counts. Rules: money.md "Margin". */

import type { Catalog } from './catalog.ts'

export type WithoutCost = readonly Readonly<{ upstream: string; models: readonly string[] }>[]

/** Those of which the configuration does not say what they charge for some model that they serve: their calls are in no sum. */
export function withoutCost({ models }: Catalog): WithoutCost {
  const lacking = [...models.values()].flatMap(({ id, upstreams, costs }) =>
    upstreams.filter(({ name }) => !costs?.has(name)).map(({ name }) => ({ upstream: name, model: id })),
  )
  return [...Map.groupBy(lacking, ({ upstream }) => upstream)].map(([upstream, of]) => ({ upstream, models: of.map(({ model }) => model) }))
}

/** In words; '' where each says it. */
export const withoutCostText = (of: WithoutCost): string =>
  of.length === 0
    ? ''
    : `What these charge is not known, so their calls are in no sum: ${of.map(({ upstream, models }) => `${upstream} (${models.join(', ')})`).join('; ')}.`
