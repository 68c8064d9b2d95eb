/** Readers of typed arguments: amounts, counts and names. Commander reports a wrong one with the argument's name. */

import { InvalidArgumentError } from 'commander'
import { LINE_CHARS_MAX, lineOf } from '../core/line.ts'
import { BALANCE_PICOS_MAX, type Picos, parseUsd, toExactUsdText } from '../core/money.ts'
import { problemOfName } from '../core/names.ts'
import { dayOf, edgeOf } from '../core/utc.ts'

/** Dollars, 0 or more. */
export function readBudget(text: string): Picos {
  const amount = readUsd(text)
  if (amount < 0n) throw new InvalidArgumentError('Expected 0 USD or more.')
  return amount
}

/** Dollars, more than 0. */
export function readAmount(text: string): Picos {
  const amount = readUsd(text)
  if (amount <= 0n) throw new InvalidArgumentError('Expected more than 0 USD; `refund` and `correct` take from a balance.')
  return amount
}

/** Dollars, not 0; a negative amount takes from a balance. */
export function readCorrection(text: string): Picos {
  const amount = readUsd(text)
  if (amount === 0n) throw new InvalidArgumentError('Expected another amount than 0.')
  return amount
}

export const REF_WITHOUT_BALANCE = 'a reference is that of a payment: give --balance with --ref'

/** A payment's reference, unchanged except that spaces around it are removed. */
export const readRef = (text: string): string => readLine(text, 'a reference')
export const readReason = (text: string): string => readLine(text, 'a reason')

function readLine(text: string, what: string): string {
  const line = lineOf(text)
  if (line === undefined) throw new InvalidArgumentError(`Expected ${what} of 1 to ${LINE_CHARS_MAX} printable characters.`)
  return line
}

function readUsd(text: string): Picos {
  const amount = parseUsd(text)
  if (amount === undefined) throw new InvalidArgumentError('Expected dollars, such as 25 or 0.50.')
  if (amount > BALANCE_PICOS_MAX || amount < -BALANCE_PICOS_MAX)
    throw new InvalidArgumentError(`Expected at most ${toExactUsdText(BALANCE_PICOS_MAX)} USD.`)
  return amount
}

/** "No limit" is a word and not `null`, which commander would turn into an empty text. */
export type Limit = Picos | 'none'
export const readLimit = (text: string): Limit => (text === 'none' ? 'none' : readBudget(text))
export const limitPicosOf = (limit: Limit | undefined): Picos | null => (limit === undefined || limit === 'none' ? null : limit)

/** A reader of whole numbers between two bounds, both included. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
  }
}

/** A day (`2026-11-30`, UTC) or a time (`2026-11-30T12:00:00Z`), in Unix milliseconds: where a range begins. */
export const readFrom = (text: string): number => orWrong(edgeOf(text, 'start'), DAY_OR_TIME)
/** A day or a time as the exclusive end of a range: a day counts whole. */
export const readTo = (text: string): number => orWrong(edgeOf(text, 'end'), DAY_OR_TIME)
/** A day of UTC, in days since 1970. */
export const readDay = (text: string): number => orWrong(dayOf(text), 'Expected a day, such as 2026-11-30.')

const DAY_OR_TIME = 'Expected a day or a time, such as 2026-11-30 or 2026-11-30T12:00:00Z.'

function orWrong(value: number | undefined, expected: string): number {
  if (value === undefined) throw new InvalidArgumentError(expected)
  return value
}

/** Refuses a name that looks like an id, so that an argument which takes an id or a name means one thing. */
export function readName(text: string): string {
  const problem = problemOfName(text)
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return text
}
