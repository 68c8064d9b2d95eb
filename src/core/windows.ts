/**
 * Windows of the UTC calendar, in which budgets hold: the hour, the day, the ISO week, which begins on Monday, and the month. Hours are whole hours since 1970. Pure: the
 * caller says the hour. Rules: money.md "Budgets".
 */

import type { Picos } from './money.ts'
import { dayOf, dayText } from './utc.ts'

export const PERS = ['hour', 'day', 'week', 'month'] as const
export type Per = (typeof PERS)[number]

/** A cap on what is spent in each window of that length. */
export type Budget = Readonly<{ per: Per; capPicos: Picos }>
export type Budgets = readonly Budget[]
export const NO_BUDGETS: Budgets = []

/** From `start`, before `end`: whole hours since 1970. */
export type Window = Readonly<{ start: number; end: number }>

export const HOUR_MS = 3_600_000
const HOURS_A_DAY = 24
const DAYS_A_WEEK = 7
/** 1970-01-05, the first Monday since 1970. */
const FIRST_MONDAY = 4

/** The hour of a moment. */
export const hourAt = (timeMs: number): number => Math.floor(timeMs / HOUR_MS)

/** How far a clock may be behind the newest hour and still be waited for: a day, and the hour of a time zone that was changed. */
export const HOURS_BEHIND_MAX = 25

/** The hour whose windows count: that of the clock, or the newest one while the clock is a little behind it. Where the clock is further behind, one of the two was wrong: the clock is followed. */
export const presentHour = (newest: number, clock: number): number =>
  newest > clock && newest - clock <= HOURS_BEHIND_MAX ? newest : clock

/** The hours by which a clock stepped that went on by so many while this time passed; 0 where that is no more than it is waited for. */
export function steppedHours(hours: number, passedMs: number): number {
  const stepped = hours - Math.round(passedMs / HOUR_MS)
  return Math.abs(stepped) > HOURS_BEHIND_MAX ? stepped : 0
}

/** The moment, or the one in that hour that is nearest to it. */
export const timeWithin = (hour: number, timeMs: number): number => Math.min(Math.max(timeMs, hour * HOUR_MS), (hour + 1) * HOUR_MS - 1)

/** The window in which the hour lies. */
export function windowAt(per: Per, hour: number): Window {
  const day = Math.floor(hour / HOURS_A_DAY)
  switch (per) {
    case 'hour':
      return { start: hour, end: hour + 1 }
    case 'day':
      return ofDays(day, day + 1)
    case 'week': {
      const monday = Math.floor((day - FIRST_MONDAY) / DAYS_A_WEEK) * DAYS_A_WEEK + FIRST_MONDAY
      return ofDays(monday, monday + DAYS_A_WEEK)
    }
    case 'month':
      return ofDays(firstOfMonth(day), firstOfMonth(firstOfMonth(day) + LONGER_THAN_A_MONTH))
  }
}

/** The windows of all lengths in which the hour lies, in the order of `PERS`. */
export const windowsAt = (hour: number): readonly Window[] => PERS.map((per) => windowAt(per, hour))

const ofDays = (from: number, to: number): Window => ({ start: from * HOURS_A_DAY, end: to * HOURS_A_DAY })

/** From the first of a month, so many days later is in the next month. */
const LONGER_THAN_A_MONTH = 31

/** The first day of the month of a day. */
const firstOfMonth = (day: number): number => dayOf(`${dayText(day).slice(0, 7)}-01`) ?? day
