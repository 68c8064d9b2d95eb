/** Many figures in a few: the median, quantiles, and the spread. */

/** The quantile of values in rising order, by nearest rank; NaN where there are no values. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** Half the difference between the highest and the lowest value, as a share of the median: 0.1 is ± 10 %. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / Math.abs(median(values))
}

/** The contestants in the order of their turns: A B B A, so that a change of the machine over time hits all alike. */
export function turns<Contestant>(contestants: readonly Contestant[], rounds: number): readonly Contestant[] {
  return Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? contestants : contestants.toReversed())).flat()
}
