/** Which questions of Explore are asked for each step by itself. Rules: ledger.md "Hours". */

import { type Dimension, type Step, stepsBetween } from '../../core/explore.ts'

/** Each is a statement, and on Postgres a trip to the server. */
const STEPS_MAX = 16
const LEAST_HOURS: Readonly<Record<Step, number>> = { hour: 1, day: 24, week: 7 * 24, month: 28 * 24 }
/** Rows are in the order of keys: of one step and key they lie together. */
const inOrder = (dimension: Dimension): boolean => dimension === 'key' || dimension === 'account'

/** `start`: the step's; the hours are those of it that were asked for. */
type StepHours = Readonly<{ start: number; fromHour: number; toHour: number }>
type Asked = Readonly<{ fromHour: number; toHour: number; by: readonly Dimension[]; step: Step | null }>

/**
 * The steps, where there are so few that to find the rows of each key for each of them costs less than to sort all rows by key and step: in the time in which one is found,
 * two are sorted. Undefined: there are more than `max`, or rows would have to be sorted all the same.
 */
export function stepsApart({ fromHour, toHour, by, step }: Asked, max: number): readonly StepHours[] | undefined {
  if (step === null || !by.every(inOrder)) return undefined
  if ((toHour - fromHour) / LEAST_HOURS[step] + 2 > Math.min(STEPS_MAX, max)) return undefined
  const starts = stepsBetween(fromHour, toHour, step)
  return starts.map((start, index) => ({
    start,
    fromHour: Math.max(start, fromHour),
    toHour: Math.min((starts[index + 1] ?? Number.POSITIVE_INFINITY) - 1, toHour),
  }))
}
