/**
 * What a reload would change, before it is done: by model, plan and upstream, with prices as customers pay them; and a digest that only the same change has. Rules:
 * pages.md "Catalog"; operator.md "Reload".
 */

import { createHmac } from 'node:crypto'
import { type Picos, picos, toExactUsdText } from '../core/money.ts'
import type { Prices, Rates } from '../core/pricing.ts'
import type { Config } from './config.ts'
import { type Change, type ChangeOf, differencesOf, shownOf, type Thing } from './difference.ts'
import type { ConfigProblem, ConfigProblems } from './problems.ts'
import { reloadable } from './reloadable.ts'

/**
 * One changed setting of a thing. `unit`: of a price in USD; of other settings null. `percent`: by how much a price rises, negative where it falls, to a tenth; null
 * where there is no price on one side, or nothing to compare with.
 */
export type SettingChange = Readonly<{
  setting: string
  before: string | null
  after: string | null
  unit: 'usd_a_million_tokens' | 'usd_a_use' | null
  percent: number | null
}>

export type ThingChange = Thing & Readonly<{ state: 'added' | 'removed' | 'changed'; changes: readonly SettingChange[] }>

/** `problems`: mistakes, because of which a reload would change nothing. `needs_restart`: changed settings that a reload leaves as they were. */
export type ReloadPreview = Readonly<{
  file: string | null
  problems: readonly ConfigProblem[]
  changes: readonly Change[]
  things: readonly ThingChange[]
  needs_restart: readonly string[]
  without_effect: readonly ConfigProblem[]
  /** Null where a reload would change nothing. */
  digest: string | null
}>

/** `secret`: of this process, so that the digest of a change tells nothing of the secrets in it. */
export function reloadPreview(inForce: Config, read: Config | ConfigProblems, secret: string): ReloadPreview {
  const none = { changes: [], things: [], needs_restart: [], without_effect: [], digest: null }
  if ('problems' in read) return { file: read.file ?? null, problems: [...read.problems], ...none }
  const { config: taken, ignored } = reloadable(inForce, read)
  const changes = differencesOf(inForce, taken)
  const values = [read.file, ignored, changes.map(({ path, values: both }) => [path, both])]
  return {
    file: read.file ?? null,
    problems: [],
    changes: changes.map(shownOf),
    things: thingsOf(inForce, taken, changes),
    needs_restart: ignored,
    without_effect: [...read.withoutEffect],
    digest: changes.length === 0 ? null : createHmac('sha256', secret).update(JSON.stringify(values)).digest('hex'),
  }
}

const KINDS = ['model', 'plan', 'upstream', 'gateway'] as const

function thingsOf(before: Config, after: Config, changes: readonly ChangeOf[]): readonly ThingChange[] {
  const byThing = Map.groupBy(changes, ({ of }) => `${KINDS.indexOf(of.kind)} ${of.name}`)
  return [...byThing.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, own]) => {
      const of = own[0]?.of
      if (of === undefined) return []
      const [was, is] = [isThere(before, of), isThere(after, of)]
      return [{ ...of, state: was && is ? 'changed' : is ? 'added' : 'removed', changes: settingChanges(before, after, of, own) }]
    })
}

function isThere({ catalog, upstreams }: Config, { kind, name }: Thing): boolean {
  switch (kind) {
    case 'model':
      return catalog.models.has(name)
    case 'plan':
      return catalog.plans.has(name)
    case 'upstream':
      return upstreams.some((one) => one.name === name)
    case 'gateway':
      return true
  }
}

/** The prices of a model stand first, in dollars also where the file has a multiple. */
function settingChanges(before: Config, after: Config, { kind, name }: Thing, changes: readonly ChangeOf[]): readonly SettingChange[] {
  const others = changes.map(({ setting, before: was, after: is }) => ({ setting, before: was, after: is, unit: null, percent: null }))
  if (kind !== 'model') return others
  const [old, wanted] = [pricesOf(before.catalog.models.get(name)), pricesOf(after.catalog.models.get(name))]
  const prices = [...new Set([...old.keys(), ...wanted.keys()])].flatMap((setting) =>
    priceChange(setting, old.get(setting), wanted.get(setting)),
  )
  return [...prices, ...others.filter(({ setting }) => !PRICE.test(setting))]
}

const PRICE = /^(?:levels\.above_\d+\.)?(?:input|output|cache_read|cache_write|cache_write_1h|server_tool_use)$/
const A_USE = 'server_tool_use'

function priceChange(setting: string, before: Picos | undefined, after: Picos | undefined): readonly SettingChange[] {
  if (before === after) return []
  const text = (price: Picos | undefined): string | null => (price === undefined ? null : toExactUsdText(price))
  const unit = setting === A_USE ? 'usd_a_use' : 'usd_a_million_tokens'
  return [{ setting, before: text(before), after: text(after), unit, percent: percentOf(before, after) }]
}

const percentOf = (before: Picos | undefined, after: Picos | undefined): number | null =>
  before === undefined || after === undefined || before === 0n ? null : Math.round((Number(after - before) / Number(before)) * 1_000) / 10

/** Picodollars by the setting's name: of a million tokens, or of a use. */
function pricesOf(model: Prices | undefined): ReadonlyMap<string, Picos> {
  if (model === undefined) return new Map()
  const levels = model.levels.flatMap(({ abovePromptTokens, rates }) => aMillion(rates, `levels.above_${abovePromptTokens}.`))
  return new Map([...aMillion(model.rates, ''), [A_USE, model.rates.serverToolUse], ...levels])
}

const aMillion = ({ input, output, cacheRead, cacheWrite5m, cacheWrite1h }: Rates, below: string) =>
  Object.entries({ input, output, cache_read: cacheRead, cache_write: cacheWrite5m, cache_write_1h: cacheWrite1h }).map(
    ([name, rate]) => [`${below}${name}`, picos(rate * 1_000_000n)] as const,
  )
