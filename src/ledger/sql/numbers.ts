/**
 * The numbers under which rows name a price version and an upstream. A number that was given inside a transaction counts once the transaction is committed; after a
 * rollback it is asked for again. Rules: money.md "Prices".
 */

import type { PriceVersion, UpstreamCall } from '../columns/parts.ts'
import { groupOf } from '../columns/price-levels.ts'

import type { Statements } from './statements.ts'

export class Numbers {
  readonly #statements: Statements
  readonly #versions: PriceVersion[] = []
  readonly #prices = new Map<PriceVersion, number>()
  /** The versions of groups, by group and model. */
  readonly #groups = new Map<string, readonly PriceVersion[]>()
  /** The numbers of upstreams, by name, then by model. */
  readonly #upstreams = new Map<string, Map<string, number>>()
  readonly #freshPrices: PriceVersion[] = []
  readonly #freshUpstreams: string[] = []

  constructor(statements: Statements) {
    this.#statements = statements
  }

  /** Adds versions to the list in which requests name a version by its place. */
  define(versions: readonly PriceVersion[]): void {
    this.#versions.push(...versions)
  }

  /** The number of the version at this place. Throws if no version was defined there, which only a bug can cause. */
  priceAt(index: number): number {
    return this.priceOf(this.versionAt(index))
  }

  versionAt(index: number): PriceVersion {
    const version = this.#versions[index]
    if (version === undefined) throw new Error(`no price version ${index}`)
    return version
  }

  /** The version, in the group of `version`, for a prompt of this many tokens. */
  versionFor(version: PriceVersion, promptTokens: number): PriceVersion {
    if (version.group === '') return version
    const name = `${version.group} ${version.factorMillionths} ${version.modelId}`
    const group = this.#groups.get(name) ?? groupOf(version)
    this.#groups.set(name, group)
    return group.findLast(({ abovePromptTokens }) => promptTokens > abovePromptTokens) ?? group[0] ?? version
  }

  priceOf(version: PriceVersion): number {
    const known = this.#prices.get(version)
    if (known !== undefined) return known
    const { insertModel, modelNumber, insertPrice, priceNumber } = this.#statements
    const { modelId, rates, abovePromptTokens, group, factorMillionths } = version
    insertModel.run({ id: modelId })
    const model = numberIn(modelNumber.get(modelId))
    insertPrice.run({ model, ...rates, above: abovePromptTokens, group, factor: factorMillionths })
    const { input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUse } = rates
    const rateNumbers = [input, output, cacheRead, cacheWrite5m, cacheWrite1h, serverToolUse] as const
    const number = numberIn(priceNumber.get(model, ...rateNumbers, group, abovePromptTokens, factorMillionths))
    this.#prices.set(version, number)
    this.#freshPrices.push(version)
    return number
  }

  upstreamOf(call: UpstreamCall | undefined): number | null {
    if (call === undefined) return null
    const { name, model } = call
    const known = this.#upstreams.get(name)?.get(model)
    if (known !== undefined) return known
    this.#statements.insertUpstream.run({ name, model })
    const number = numberIn(this.#statements.upstreamNumber.get(name, model))
    const models = this.#upstreams.get(name) ?? new Map<string, number>()
    this.#upstreams.set(name, models.set(model, number))
    this.#freshUpstreams.push(name)
    return number
  }

  committed(): void {
    this.#freshPrices.length = 0
    this.#freshUpstreams.length = 0
  }

  rolledBack(): void {
    for (const version of this.#freshPrices) this.#prices.delete(version)
    for (const name of this.#freshUpstreams) this.#upstreams.delete(name)
    this.committed()
  }
}

export function numberIn(row: { number: bigint } | null): number {
  if (row === null) throw new Error('a row that was just made is not there')
  return Number(row.number)
}
