/**
 * One connection that many ask: a question goes to it at once, in the order in which they come, and a transaction has it alone to its end. A caller that would wait for
 * too long is refused, and what was not begun by then never is. Rules: pages.md "People".
 */

import { type Asked, type Given, type OneConnection, PeopleAway, type PeopleSql, type SqlResult, sqlOver } from './people-sql.ts'

/** In milliseconds: how long a question may wait for its turn, and how long the turn may take. `most`: how many may be asked and not answered. */
export type TurnLimits = Readonly<{ waitMs: number; turnMs: number; most: number }>

/** A write that waits for another connection's lock gives up before who waits behind it does. So many questions are some 30 MB. */
const LIMITS: TurnLimits = { waitMs: 8_000, turnMs: 10_000, most: 20_000 }

export function inTurns(connection: OneConnection, limits: TurnLimits = LIMITS): PeopleSql {
  const turns = new Turns(connection, limits)
  return sqlOver(
    'sqlite',
    (text, given = {}) => turns.ask(text, given),
    (_subjects, work) => turns.transaction(work),
  )
}

class Turns {
  readonly #connection: OneConnection
  readonly #limits: TurnLimits
  /** What begins, in this order, when the transaction that has the connection has ended. */
  readonly #line = new Set<() => void>()
  #isHeld = false
  #unanswered = 0

  constructor(connection: OneConnection, limits: TurnLimits) {
    this.#connection = connection
    this.#limits = limits
  }

  /** `onBegin`: called when the question goes to the connection, before any other can. */
  ask(text: string, given: Given, onBegin?: () => void): Promise<SqlResult> {
    const { waitMs, turnMs, most } = this.#limits
    if (this.#unanswered >= most) return Promise.reject(new PeopleAway('too many wait for it'))
    this.#unanswered++
    const { promise, resolve, reject } = Promise.withResolvers<SqlResult>()
    let asked: Asked | undefined
    const begin = (): void => {
      this.#line.delete(begin)
      onBegin?.()
      try {
        asked = this.#connection.ask(text, given, false)
        asked.answer.then(resolve, reject)
      } catch (error) {
        reject(error)
      }
    }
    let timer = setTimeout(() => {
      if (asked === undefined ? this.#line.delete(begin) : asked.giveUp()) reject(new PeopleAway('others have it for too long'))
      else timer = setTimeout(() => reject(new PeopleAway('it does not answer')), turnMs)
    }, waitMs)
    if (this.#isHeld) this.#line.add(begin)
    else begin()
    return promise.finally(() => {
      clearTimeout(timer)
      this.#unanswered--
    })
  }

  /** A turn that is over before its work has ended leaves nothing, and what the work asks then is refused. */
  async transaction<Result>(work: (sql: PeopleSql) => Promise<Result>): Promise<Result> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    late.catch(() => undefined)
    let state: 'waiting' | 'open' | 'ended' = 'waiting'
    let timer: ReturnType<typeof setTimeout> | undefined
    const inside: PeopleSql = sqlOver(
      'sqlite',
      (text, given = {}) =>
        state === 'open' ? this.#connection.ask(text, given, true).answer : Promise.reject(new PeopleAway('its transaction has ended')),
      (_subjects, within) => within(inside),
    )
    try {
      await this.ask('BEGIN IMMEDIATE', {}, () => {
        state = 'open'
        this.#isHeld = true
      })
      timer = setTimeout(() => reject(new PeopleAway('it does not answer')), this.#limits.turnMs)
      const result = await Promise.race([work(inside), late])
      state = 'ended'
      await Promise.race([this.#connection.ask('COMMIT', {}, true).answer, late])
      this.#release()
      return result
    } catch (error) {
      if (state !== 'waiting') this.#undo()
      state = 'ended'
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** The others wait until nothing of the transaction is left, and its caller does not. */
  #undo(): void {
    const release = (): void => this.#release()
    Promise.try(() => this.#connection.rollBack()).then(release, release)
  }

  #release(): void {
    this.#isHeld = false
    for (const begin of this.#line) {
      if (this.#isHeld) return
      begin()
    }
  }
}
