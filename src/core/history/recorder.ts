/**
 * Counts the requests of a process until they are written: a few additions a request into the running minute, from which the hour is summed. Rules: pages.md "History".
 */

import { type Ended, Moment, type MomentRows, type Step, type Writer } from './moment.ts'

const MINUTE_S = 60
const HOUR_S = 3_600
/** How far the clock may step back before a new writer begins: rows that were written for a moment are replaced by its writer's next rows of the moment. */
const STEP_BACK_S = 60
/** The most moments that wait until they can be written: twelve hours of minutes. */
const WAITING_MAX = 800

/** `hour`: the minutes of the running hour that are over. */
type Open = Readonly<{ minute: Moment; hour: Moment }>

export class HistoryRecorder {
  readonly #boot: string
  readonly #now: () => number
  #generation = 0
  #beganAt: number
  #open: Open | undefined
  #waiting: readonly MomentRows[] = []

  /** `boot`: a name that no other process ever has. `now`: Unix milliseconds. */
  constructor({ boot, now }: Readonly<{ boot: string; now: () => number }>) {
    this.#boot = boot
    this.#now = now
    this.#beganAt = Math.floor(now() / 1_000)
  }

  /** Who writes now. */
  get writer(): Writer {
    return { name: this.#generation === 0 ? this.#boot : `${this.#boot}-${this.#generation}`, beganAt: this.#beganAt }
  }

  ended(request: Ended): void {
    this.#openNow().minute.add(request)
  }

  /** The moments that changed since they were last taken, in order. They come again with the next call unless they are `written`. */
  take(): readonly MomentRows[] {
    if (this.#open !== undefined) this.#put(this.#open)
    return this.#waiting
  }

  written(moments: readonly MomentRows[]): void {
    const done = new Set(moments)
    this.#waiting = this.#waiting.filter((moment) => !done.has(moment))
  }

  #openNow(): Open {
    const second = Math.floor(this.#now() / 1_000)
    const open = this.#open
    if (open !== undefined && second < open.minute.at + MINUTE_S && second >= open.minute.at - STEP_BACK_S) return open
    if (open !== undefined) this.#put(open)
    if (open !== undefined && second < open.minute.at) this.#beginAnew(second)
    const next = { minute: momentAt(second, MINUTE_S), hour: momentAt(second, HOUR_S) }
    if (open !== undefined && next.hour.at === open.hour.at && second >= open.minute.at) {
      next.hour.addAll(open.hour)
      next.hour.addAll(open.minute)
    }
    this.#open = next
    return next
  }

  #beginAnew(second: number): void {
    this.#generation++
    this.#beganAt = second
  }

  #put({ minute, hour }: Open): void {
    if (!minute.isChanged) return
    const whole = momentAt(hour.at, HOUR_S)
    whole.addAll(hour)
    whole.addAll(minute)
    for (const moment of [minute, whole]) this.#wait(moment.rows(this.writer.name))
  }

  #wait(rows: MomentRows): void {
    const isOther = ({ writer, step, at }: MomentRows): boolean => writer !== rows.writer || step !== rows.step || at !== rows.at
    this.#waiting = [...this.#waiting.filter(isOther), rows].slice(-WAITING_MAX)
  }
}

const momentAt = (second: number, step: Step): Moment => new Moment(step, second - (second % step))
