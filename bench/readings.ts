/** The measured figures of all turns, by metric and contestant. `rows.ts` or a metric's name says the unit. */

import { median, spread } from './statistics.ts'

export type Figures = Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>

/** Contestants beside the gateways: the load without a gateway, and the machine itself. */
export const NONE = 'none'
export const TOLLGATE = 'Tollgate'

export class Readings {
  readonly #figures = new Map<string, Map<string, number[]>>()

  add(metric: string, contestant: string, figure: number): void {
    const ofAll = this.#figures.get(metric) ?? new Map<string, number[]>()
    this.#figures.set(metric, ofAll)
    const own = ofAll.get(contestant)
    if (own === undefined) ofAll.set(contestant, [figure])
    else own.push(figure)
  }

  has(metric: string): boolean {
    return this.#figures.has(metric)
  }

  /** Undefined where nothing was measured. */
  median(metric: string, contestant: string): number | undefined {
    const figures = this.#figures.get(metric)?.get(contestant)
    const middle = figures === undefined ? Number.NaN : median(figures)
    return Number.isFinite(middle) ? middle : undefined
  }

  /** The spread of the turns as a share of their median: 0.1 is ± 10 %. Undefined for less than two turns. */
  spread(metric: string, contestant: string): number | undefined {
    const figures = this.#figures.get(metric)?.get(contestant) ?? []
    return figures.length < 2 ? undefined : spread(figures)
  }

  figures(): Figures {
    return Object.fromEntries([...this.#figures].map(([metric, ofAll]) => [metric, Object.fromEntries(ofAll)]))
  }
}
