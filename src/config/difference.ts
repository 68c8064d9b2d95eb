/** What differs between two configurations, by the names of the file and with its units; secrets differ without being shown. Rules: operator.md "Reload"; pages.md "Catalog". */

import { type Picos, toExactUsdText } from '../core/money.ts'
import { type UpstreamCost, WHOLE_FACTOR } from '../core/upstream-cost.ts'
import type { Config } from './config.ts'
import { priceList } from './prices.ts'

/** One changed setting; `before` or `after` is null when the setting is not there. */
export type Change = Readonly<{ path: string; before: string | null; after: string | null }>

/** What a setting is of. `name`: '' for the gateway itself. */
export type Thing = Readonly<{ kind: 'model' | 'plan' | 'upstream' | 'gateway'; name: string }>

/** A change with what it is of. `setting`: its name there. `values`: both, secrets too, so they leave the process in no form that can be read. */
export type ChangeOf = Change & Readonly<{ of: Thing; setting: string; values: readonly [string | null, string | null] }>

/** A setting is secret by its name in the code, so that a new one is hidden, too. An address is secret unless it is named below, since it may hold a password. */
const SECRET = /(?:key|keyid|secret|password|token|url)$/i
const NO_SECRETS: ReadonlySet<string> = new Set(['baseUrl', 'bytesPerToken', 'dashboardUrl', 'publicUrl', 'tokenUrl'])
/** Tables whose every value is a secret. */
const SECRET_TABLES: ReadonlySet<string> = new Set(['secretHeaders'])

/** The changes, in the order of their paths. */
export const differences = (before: Config, after: Config): readonly Change[] => differencesOf(before, after).map(shownOf)

export const shownOf = ({ path, before, after }: ChangeOf): Change => ({ path, before, after })

/** The changes with what each is of, in the order of their paths. */
export function differencesOf(before: Config, after: Config): readonly ChangeOf[] {
  const [old, wanted] = [settingsOf(before), settingsOf(after)]
  const paths = [...new Set([...old.keys(), ...wanted.keys()])].toSorted()
  return paths.flatMap((path) => {
    const [a, b] = [old.get(path), wanted.get(path)]
    const either = a ?? b
    if (either === undefined || a?.value === b?.value) return []
    const { of } = either
    const isHidden = a !== undefined && a.shown === b?.shown
    const shown = { before: a?.shown ?? null, after: isHidden ? 'another one' : (b?.shown ?? null) }
    return [{ path, ...shown, of, setting: path.slice(pathOf(of).length), values: [a?.value ?? null, b?.value ?? null] }]
  })
}

/** The beginning of the paths of a thing's settings. */
const pathOf = ({ kind, name }: Thing): string => (kind === 'gateway' ? '' : `${kind}s.${name}.`)

/** `shown`: what people may see of `value`. */
type Setting = Readonly<{ value: string; shown: string; of: Thing }>

function settingsOf({
  server,
  operator,
  ledger: { kind: _kind, ...ledger },
  limits,
  upstreams,
  catalog,
  ...more
}: Config): ReadonlyMap<string, Setting> {
  const settings = new Map<string, Setting>()
  const { file: _file, withoutEffect: _withoutEffect, ...tables } = more
  note(settings, { kind: 'gateway', name: '' }, { server, operator, ...tables, ledger, limits })
  for (const { name, ...upstream } of upstreams) note(settings, { kind: 'upstream', name }, upstream)
  for (const { name, rates, ...plan } of catalog.plans.values()) note(settings, { kind: 'plan', name }, { ...plan, ...rates })
  for (const {
    id,
    rates,
    levels,
    upstreamModel: _first,
    createdSeconds: _created,
    displayName: _name,
    costs,
    ...model
  } of catalog.models.values()) {
    const of: Thing = { kind: 'model', name: id }
    const served = model.upstreams.map((one) => (one.model === id ? one.name : `${one.name} as ${one.model}`))
    const prices = { ...priceList(rates), serverToolUse: toExactUsdText(rates.serverToolUse) }
    for (const [upstream, cost] of costs ?? []) noteCost(settings, of, `upstreams.${upstream}.cost.`, cost)
    for (const level of levels) note(settings, of, priceList(level.rates), `levels.above_${level.abovePromptTokens}.`)
    note(settings, of, { ...model, ...prices, upstreams: served, rejects: [...model.rejects] })
  }
  return settings
}

/** `below`: where in the thing. A factor of 1 beside prices of its own is no factor. */
function noteCost(settings: Map<string, Setting>, of: Thing, below: string, { prices, factorMillionths }: UpstreamCost): void {
  note(settings, of, { ...priceList(prices.rates), serverToolUse: toExactUsdText(prices.rates.serverToolUse) }, below)
  for (const level of prices.levels) note(settings, of, priceList(level.rates), `${below}levels.above_${level.abovePromptTokens}.`)
  if (factorMillionths !== WHOLE_FACTOR) note(settings, of, { factor: factorMillionths / WHOLE_FACTOR }, below)
}

function note(settings: Map<string, Setting>, of: Thing, table: Readonly<Record<string, unknown>>, below = '', isSecret = false): void {
  for (const [name, value] of Object.entries(table)) {
    const own = `${below}${snake(name)}`
    if (value === undefined || value === null) continue
    if (typeof value === 'object' && !Array.isArray(value))
      note(settings, of, value as Record<string, unknown>, `${own}.`, SECRET_TABLES.has(name))
    else {
      const text = typeof value === 'bigint' ? toExactUsdText(value as Picos) : Array.isArray(value) ? value.join(', ') : String(value)
      const shown = isSecret || (SECRET.test(name) && !NO_SECRETS.has(name)) ? 'a secret' : text
      settings.set(`${pathOf(of)}${own}`, { value: text, shown, of })
    }
  }
}

/** A setting's name as the file writes it. */
export const snake = (name: string): string =>
  name
    .replace(/Picos$/, 'Usd')
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll(/(?<=[a-z])(\d+[a-z]?)$/g, '_$1')
