/** How a request ended, and what each end is charged. Rules: money.md "Charges". */

import { type Picos, ZERO } from './money.ts'
import { finalUsage, type Observation, partialUsage } from './native/observation.ts'
import { type Bounds, costOf, levelOf, type Prices, ratesAt } from './pricing.ts'
import type { Usage } from './usage.ts'

/**
 * complete: the upstream's answer is whole · fault: the upstream broke · deadline: a time limit passed · leaver: the client went away ·
 * drain: this process had to stop · cut: the key or its account was disabled while the answer ran · recovered: the process died.
 */
export const OUTCOMES = ['complete', 'fault', 'deadline', 'leaver', 'drain', 'cut', 'recovered'] as const
export type Outcome = (typeof OUTCOMES)[number]

/**
 * final: what the upstream reported at its end, even where the answer was cut after that · partial: its last figures before a cut · estimated: at least one figure
 * is ours · none: nothing was read.
 */
export const USAGE_SOURCES = ['final', 'partial', 'estimated', 'none'] as const
export type UsageSource = (typeof USAGE_SOURCES)[number]

/**
 * What an ended request costs. `void`: nothing was delivered or nothing is known; the hold is released and no receipt is written. `bytesPerToken`: the ratio that an
 * estimate was made with; undefined where no figure is ours. `level`: the price level, which `promptTokens` decide.
 */
export type Charge =
  | 'void'
  | Readonly<{
      usage: Usage
      source: UsageSource
      bytesPerToken: number | undefined
      level: number
      promptTokens: number
      costPicos: Picos
      waivedPicos: Picos
    }>

/** `cost + waived` is always the price of `usage`: after a fault of ours or the upstream's the price is waived, else it is charged. */
export function chargeOf(outcome: Outcome, seen: Observation, bounds: Bounds, prices: Prices): Charge {
  if (outcome === 'complete') {
    const { usage, promptTokens, isEstimated } = finalUsage(seen, bounds)
    const level = levelOf(prices, promptTokens)
    const costPicos = costOf(usage, ratesAt(prices, level))
    return { usage, ...sourceOf(isEstimated, 'final', bounds), level, promptTokens, costPicos, waivedPicos: ZERO }
  }
  const { usage, promptTokens, isEstimated } = partialUsage(seen, bounds)
  if (!seen.hasStarted) return 'void'
  const source = sourceOf(isEstimated, seen.stopReason === undefined ? 'partial' : 'final', bounds)
  const level = levelOf(prices, promptTokens)
  const price = costOf(usage, ratesAt(prices, level))
  return isWaived(outcome)
    ? { usage, ...source, level, promptTokens, costPicos: ZERO, waivedPicos: price }
    : { usage, ...source, level, promptTokens, costPicos: price, waivedPicos: ZERO }
}

const sourceOf = (isEstimated: boolean, told: 'partial' | 'final', { bytesPerToken }: Bounds) =>
  isEstimated ? ({ source: 'estimated', bytesPerToken } as const) : { source: told, bytesPerToken: undefined }

export function isWaived(outcome: Outcome): boolean {
  switch (outcome) {
    case 'fault':
    case 'drain':
    case 'recovered':
      return true
    case 'complete':
    case 'deadline':
    case 'leaver':
    case 'cut':
      return false
  }
}
