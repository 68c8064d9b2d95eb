/** The table's cells: what each contestant reached in a row, in the words of the row, and whether Tollgate reached the goal. */

import { NONE, type Readings, TOLLGATE } from './readings.ts'
import type { Figure, Goal, Row } from './rows.ts'
import { tableText } from './table.ts'
import { digits, inUnit } from './units.ts'

export type Judged = Readonly<{
  name: string
  /** The texts by contestant; a contestant without a figure in this row is absent. */
  cells: Readonly<Record<string, string>>
  goal: string
  /** Undefined where the figure, or what its goal is a multiple of, was not measured. */
  met: boolean | undefined
}>

const REFERENCE = 'R'
const SENSE = { most: '≤', least: '≥' }
/** A spread below this is not shown. */
const SPREAD_SHOWN = 0.1

/** The cells of all rows with a figure. `subject`: the contestant whose figures the goals are for. */
export function judge(
  rows: readonly Row[],
  readings: Readings,
  contestants: readonly string[],
  subject: string = TOLLGATE,
): readonly Judged[] {
  return rows
    .map(({ name, figures, only }) => ({
      name,
      cells: cellsOf(
        figures,
        readings,
        contestants.filter((one) => only === undefined || one === only),
      ),
      goal: figures
        .map(({ goals = [], unit, label }) => [label, goals.map((goal) => goalText(goal, unit)).join(', ')].filter(Boolean).join(' '))
        .join(' · '),
      met: isMet(figures, readings, only ?? subject),
    }))
    .filter(({ cells }) => Object.keys(cells).length > 0)
}

const MET = new Map([
  [true, 'yes'],
  [false, 'no'],
  [undefined, '–'],
])

/** The judged rows as a table. */
export function judgedText(judged: readonly Judged[], contestants: readonly string[]): string {
  return tableText(
    ['', ...contestants, 'goal', 'met'],
    judged.map(({ name, cells, goal, met }) => [name, ...contestants.map((one) => cells[one] ?? ''), goal, MET.get(met) ?? '']),
  )
}

function cellsOf(figures: readonly Figure[], readings: Readings, contestants: readonly string[]): Record<string, string> {
  const cells = contestants.map((contestant): [string, string] => {
    const texts = figures.map((figure) => figureText(figure, readings, contestant)).filter((text) => text !== undefined)
    return [contestant, texts.join(' · ')]
  })
  return Object.fromEntries(cells.filter(([, text]) => text !== ''))
}

function figureText(figure: Figure, readings: Readings, contestant: string): string | undefined {
  const { metric, unit, as, label } = figure
  const value = readings.median(metric, contestant)
  if (value === undefined) return undefined
  const name = label === undefined ? '' : `${label} `
  const spread = readings.spread(metric, contestant) ?? 0
  const range = spread > SPREAD_SHOWN ? ` ±${Math.round(spread * 100)} %` : ''
  const reference = readings.median(metric, REFERENCE)
  if (as === 'itself' || reference === undefined) return `${name}${inUnit(value, unit)}${range}`
  if (as === 'ratio') return `${name}${contestant === REFERENCE ? '1' : `${digits(value / reference)} R`} (${inUnit(value, unit)}${range})`
  if (contestant === REFERENCE) return `${name}0 (${inUnit(value, unit)}${range})`
  return `${name}${value >= reference ? '+' : '−'}${inUnit(Math.abs(value - reference), unit)}${range}`
}

function goalText({ sense, value, of, plus = 0 }: Goal, unit: Figure['unit']): string {
  const more = plus === 0 ? '' : ` + ${inUnit(plus, unit)}`
  const amount = {
    R: `${value} R`,
    P: `${value} P`,
    flush: value === 1 ? 'a flush' : `${value} flushes`,
    idle: `${value} × idle`,
    one: inUnit(value, unit),
  }
  return `${SENSE[sense]} ${amount[of]}${more}`
}

function isMet(figures: readonly Figure[], readings: Readings, subject: string): boolean | undefined {
  const verdicts = figures.flatMap((figure) => (figure.goals ?? []).map((goal) => isGoalMet(figure, goal, readings, subject)))
  if (verdicts.includes(false)) return false
  return verdicts.length === 0 || verdicts.includes(undefined) ? undefined : true
}

function isGoalMet({ metric, as }: Figure, { sense, value, of, plus = 0 }: Goal, readings: Readings, subject: string): boolean | undefined {
  const reached = readings.median(metric, subject)
  const reference = readings.median(metric, REFERENCE)
  const base = {
    R: reference,
    P: readings.median(metric, 'P'),
    flush: readings.median('flush', NONE),
    idle: readings.median('memory.idle', TOLLGATE),
    one: 1,
  }[of]
  if (reached === undefined || base === undefined || (as === 'added' && reference === undefined)) return undefined
  const figure = as === 'added' ? reached - (reference ?? 0) : reached
  return sense === 'most' ? figure <= value * base + plus : figure >= value * base + plus
}
