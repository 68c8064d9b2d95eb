/** The answers of a group, sorted by the process that asked: on a file, the thread's own process and its relays. Rules: ledger.md "Group commit"; processes.md "Relays". */

import type { Answer, NumberedTask } from '../task.ts'
import type { Committed } from '../thread-messages.ts'
import type { Spill } from './spill.ts'
import type { Applied } from './store.ts'

/** Answers by the boot of the relay that asked; undefined: the thread's own process asked. */
export type AnswersByAsker = ReadonlyMap<number | undefined, Pick<Committed, 'settled' | 'answers' | 'settledRows'>>

export const NO_ANSWERS: AnswersByAsker = new Map<undefined, never>()

type Collected = { settled: number[]; answers: { number: number; answer: Answer }[] }

/** An Idempotency-Key without a receipt is `unavailable`, and not free, where a settle in the spill uses it up. */
export function answersTo(
  batch: readonly NumberedTask[],
  { answers, held, settledRows }: Applied,
  spill: Pick<Spill, 'usesUp'>,
): AnswersByAsker {
  const all = byAsker(
    batch,
    ({ task }, index) => {
      const answer = answers[index]
      return answer === undefined && task.kind === 'findIdempotency' && spill.usesUp(task.headerHash) ? 'unavailable' : answer
    },
    ({ task }) => held.has(task),
  )
  if (settledRows === undefined) return all
  return new Map(
    [...all].map(([from, own]) => {
      const rows = from === undefined ? undefined : settledRows.get(from)
      return [from, rows === undefined ? own : { ...own, settledRows: rows }]
    }),
  )
}

/** `isOpen`: whether a task has no answer yet. */
export function byAsker(
  batch: readonly NumberedTask[],
  answerTo: (asked: NumberedTask, index: number) => Answer,
  isOpen: (asked: NumberedTask) => boolean = () => false,
): AnswersByAsker {
  const all = new Map<number | undefined, Collected>()
  batch.forEach((asked, index) => {
    if (isOpen(asked)) return
    const { number, task, from } = asked
    const answer = answerTo(asked, index)
    const own = all.get(from) ?? { settled: [], answers: [] }
    all.set(from, own)
    if (task.kind === 'settle' && answer === 'settled') own.settled.push(number)
    // A task without a number has no caller that waits.
    else if (number !== 0) own.answers.push({ number, answer })
  })
  return new Map([...all].map(([from, { settled, answers }]) => [from, { settled: Float64Array.from(settled), answers }]))
}
