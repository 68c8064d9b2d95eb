/** Which questions of Explore are asked for each step by itself. Rules: ledger.md "Hours". */

import { type Dimension, type Step, stepsBetween } from '../../core/explore.ts'

/** Each is a statement, and on Postgres a trip to the server. */
const STEPS_MAX = 16
const LEAST_HOURS: Readonly<Record<Step, number>> = { hour: 1, day: 24, week: 7 * 24, month: 28 * 24 }
/** Rows are stored by key and hour, so those of a key and step lie together. */
const isOfKeys = (dimension: Dimension): boolean => dimension === 'key' || dimension === 'account'

/** `start`: the first hour of the step. The others are the first and last hour of it that were asked for. */
type StepHours = Readonly<{ start: number; fromHour: number; toHour: number }>
type Asked = Readonly<{ fromHour: number; toHour: number; by: readonly Dimension[]; step: Step | null }>

/**
 * The steps, where a reader may find the rows of each key for each step instead of sorting all rows by key and step. To find the rows of one key and step takes as long as to
 * sort two rows. Undefined: there are more than `max` steps, or rows would have to be sorted all the same.
 */
export function stepsApart({ fromHour, toHour, by, step }: Asked, max: number): readonly StepHours[] | undefined {
  if (step === null || !by.every(isOfKeys)) return undefined
  if ((toHour - fromHour) / LEAST_HOURS[step] + 2 > Math.min(STEPS_MAX, max)) return undefined
  const starts = stepsBetween(fromHour, toHour, step)
  return starts.map((start, index) => ({
    start,
    fromHour: Math.max(start, fromHour),
    toHour: Math.min((starts[index + 1] ?? Number.POSITIVE_INFINITY) - 1, toHour),
  }))
}
