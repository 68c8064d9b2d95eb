/** The numbers that a chart gets, made of those that a page has. They are apart from the canvas, so that they are looked at without one. Rules: pages.md "Tables". */

type Values = readonly (number | null)[]
type Lines = readonly Readonly<{ values: Values }>[]

/** Stacks each series on those before it, in `count` places. The tallest is first, since what is drawn first is drawn over. */
export function stacked(series: Lines, count: number): number[][] {
  const tops: number[][] = []
  for (const { values } of series) {
    const below = tops.at(-1)
    tops.push(Array.from({ length: count }, (_, at) => (below?.[at] ?? 0) + (values[at] ?? 0)))
  }
  return tops.reverse()
}

/** `starts`: of parts of `partS` seconds, in ISO 8601. A value stands in the middle of its part, so that a pointer is nearest to that of the part which it is in. */
export function overTime(starts: readonly string[], partS: number, series: Lines, isStacked: boolean): (number | null)[][] {
  const middles = starts.map((start) => secondsOf(start) + partS / 2)
  return [middles, ...(isStacked ? stacked(series, starts.length) : series.map(({ values }) => [...values]))]
}

/** Unix seconds. */
export const secondsOf = (iso: string): number => Date.parse(iso) / 1_000
