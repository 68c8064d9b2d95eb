/** What differs between two configurations, by the names of the file and with its units; secrets differ without being shown. Rules: operator.md "Reload"; pages.md "Catalog". */

import { type Picos, toExactUsdText } from '../core/money.ts'
import { type UpstreamCost, WHOLE_FACTOR } from '../core/upstream-cost.ts'
import type { Config } from './config.ts'
import { priceList } from './prices.ts'

/** One changed setting; `before` or `after` is null when the setting is not there. */
export type Change = Readonly<{ path: string; before: string | null; after: string | null }>

/** A setting is secret by its name in the code, so that a new one is hidden, too. An address is secret unless it is named below, since it may hold a password. */
const SECRET = /(?:key|keyid|secret|password|token|url)$/i
const NO_SECRETS: ReadonlySet<string> = new Set(['baseUrl', 'bytesPerToken', 'dashboardUrl', 'publicUrl', 'tokenUrl'])
/** Tables whose every value is a secret. */
const SECRET_TABLES: ReadonlySet<string> = new Set(['secretHeaders'])

/** The changes, in the order of their paths. */
export function differences(before: Config, after: Config): readonly Change[] {
  const [old, wanted] = [settingsOf(before), settingsOf(after)]
  const paths = [...new Set([...old.keys(), ...wanted.keys()])].toSorted()
  return paths.flatMap((path) => {
    const [a, b] = [old.get(path), wanted.get(path)]
    if (a?.value === b?.value) return []
    const isHidden = a !== undefined && a.shown === b?.shown
    return [{ path, before: a?.shown ?? null, after: isHidden ? 'another one' : (b?.shown ?? null) }]
  })
}

/** `shown`: what people may see of `value`. */
type Setting = Readonly<{ value: string; shown: string }>

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
  note(settings, '', { server, operator, ...tables, ledger, limits })
  for (const { name, ...upstream } of upstreams) note(settings, `upstreams.${name}`, upstream)
  for (const { name, rates, ...plan } of catalog.plans.values()) note(settings, `plans.${name}`, { ...plan, ...rates })
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
    const served = model.upstreams.map((one) => (one.model === id ? one.name : `${one.name} as ${one.model}`))
    const prices = { ...priceList(rates), serverToolUse: toExactUsdText(rates.serverToolUse) }
    for (const [upstream, cost] of costs ?? []) noteCost(settings, `models.${id}.upstreams.${upstream}.cost`, cost)
    for (const level of levels) note(settings, `models.${id}.levels.above_${level.abovePromptTokens}`, priceList(level.rates))
    note(settings, `models.${id}`, { ...model, ...prices, upstreams: served, rejects: [...model.rejects] })
  }
  return settings
}

/** `path`: a factor of 1 beside prices of its own is no factor. */
function noteCost(settings: Map<string, Setting>, path: string, { prices, factorMillionths }: UpstreamCost): void {
  note(settings, path, { ...priceList(prices.rates), serverToolUse: toExactUsdText(prices.rates.serverToolUse) })
  for (const level of prices.levels) note(settings, `${path}.levels.above_${level.abovePromptTokens}`, priceList(level.rates))
  if (factorMillionths !== WHOLE_FACTOR) note(settings, path, { factor: factorMillionths / WHOLE_FACTOR })
}

function note(settings: Map<string, Setting>, path: string, table: Readonly<Record<string, unknown>>, isSecret = false): void {
  for (const [name, value] of Object.entries(table)) {
    const own = path === '' ? snake(name) : `${path}.${snake(name)}`
    if (value === undefined || value === null) continue
    if (typeof value === 'object' && !Array.isArray(value)) note(settings, own, value as Record<string, unknown>, SECRET_TABLES.has(name))
    else {
      const text = typeof value === 'bigint' ? toExactUsdText(value as Picos) : Array.isArray(value) ? value.join(', ') : String(value)
      settings.set(own, { value: text, shown: isSecret || (SECRET.test(name) && !NO_SECRETS.has(name)) ? 'a secret' : text })
    }
  }
}

/** A setting's name as the file writes it. */
export const snake = (name: string): string =>
  name
    .replace(/Picos$/, 'Usd')
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll(/(?<=[a-z])(\d+[a-z]?)$/g, '_$1')
