/**
 * Which test files a check runs: all that are quick, and of those that are slow a random part, as many as their times allow. What is not in the table is new, and runs.
 */

import type { Random } from './seed.ts'

/** A file is slow that took so long, with its start. */
export const SLOW_FROM_MS = 5_000

/** `timings`: milliseconds by file. `budgetMs`: for the slow ones together. */
export function drawFiles(
  timings: Readonly<Record<string, number>>,
  budgetMs: number,
  random: Random,
): Readonly<{ drawn: readonly string[]; left: readonly string[] }> {
  const slow = shuffled(
    Object.entries(timings)
      .filter(([, ms]) => ms >= SLOW_FROM_MS)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
    random,
  )
  const drawn: string[] = []
  const left: string[] = []
  let remainingMs = budgetMs
  for (const [file, ms] of slow) {
    const fits = ms <= remainingMs
    if (fits) remainingMs -= ms
    ;(fits ? drawn : left).push(file)
  }
  return { drawn, left }
}

function shuffled<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}
