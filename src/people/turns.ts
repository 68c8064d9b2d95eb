/**
 * One connection that many ask: a question, or a transaction to its end, has it alone, in the order in which they came. A caller that would wait for too long is
 * refused, and what was not begun by then never is. Rules: pages.md "People".
 */

import { type OneConnection, PeopleAway, type PeopleSql, sqlOver } from './people-sql.ts'

/** In milliseconds: how long a question may wait for its turn, and how long the turn may take. `most`: how many may wait. */
export type TurnLimits = Readonly<{ waitMs: number; turnMs: number; most: number }>

/** A write that waits for another connection's lock gives up before who waits behind it does. */
const LIMITS: TurnLimits = { waitMs: 8_000, turnMs: 10_000, most: 1_000 }

/** `late` rejects when the turn has taken too long. */
type Turn = { readonly late: Promise<never>; isOver: boolean }

export function inTurns(connection: OneConnection, limits: TurnLimits = LIMITS): PeopleSql {
  const turns = new Turns(limits)
  return sqlOver(
    'sqlite',
    (text, given = {}) => turns.take(() => connection.ask(text, given, false)),
    (_subjects, work) => turns.take((turn) => committed(connection, work, turn)),
  )
}

class Turns {
  readonly #limits: TurnLimits
  readonly #waiting: (() => void)[] = []
  #isTaken = false

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  async take<Result>(run: (turn: Turn) => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await this.#itsTurn()
    this.#isTaken = true
    const { promise: late, reject } = Promise.withResolvers<never>()
    late.catch(() => undefined)
    const turn: Turn = { late, isOver: false }
    const timer = setTimeout(() => {
      turn.isOver = true
      reject(new PeopleAway('it does not answer'))
    }, this.#limits.turnMs)
    const running = run(turn)
    const end = (): void => {
      clearTimeout(timer)
      const next = this.#waiting.shift()
      if (next === undefined) this.#isTaken = false
      else next()
    }
    running.then(end, end)
    return await Promise.race([running, late])
  }

  /** Resolves when the one before has handed its turn on. */
  #itsTurn(): Promise<void> {
    const { waitMs, most } = this.#limits
    if (this.#waiting.length === most) return Promise.reject(new PeopleAway('too many wait for it'))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(begin), 1)
      reject(new PeopleAway('others have it for too long'))
    }, waitMs)
    this.#waiting.push(begin)
    return promise
  }
}

/** A turn that is over before its work has ended leaves nothing, and what the work asks then is refused. */
async function committed<Result>(connection: OneConnection, work: (sql: PeopleSql) => Promise<Result>, turn: Turn): Promise<Result> {
  await connection.ask('BEGIN IMMEDIATE', {}, false)
  let isOpen = true
  const inside: PeopleSql = sqlOver(
    'sqlite',
    (text, given = {}) => (isOpen ? connection.ask(text, given, true) : Promise.reject(new PeopleAway('its transaction has ended'))),
    (_subjects, within) => within(inside),
  )
  try {
    const result = await (turn.isOver ? turn.late : Promise.race([work(inside), turn.late]))
    isOpen = false
    await connection.ask('COMMIT', {}, true)
    return result
  } catch (error) {
    isOpen = false
    await connection.rollBack()
    throw error
  }
}
