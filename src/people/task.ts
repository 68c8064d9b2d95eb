/** The questions to the thread of the people, and its replies, as data that crosses threads. Rules: pages.md "People". */

import type { Given, SqlResult } from './people-sql.ts'

/** `number`: the reply has the same. `isInside`: the question is part of the open transaction. `progress`: of a `Progress`. */
export type ToPeopleThread =
  | Readonly<{ kind: 'open'; path: string; progress: SharedArrayBuffer }>
  | Readonly<{ kind: 'ask'; number: number; text: string; given: Given; isInside: boolean }>
  | Readonly<{ kind: 'rollBack'; number: number }>
  | Readonly<{ kind: 'close'; number: number }>

/** An error as data, since a thread's message drops the class and the fields of what is thrown. `isAway`: it is PeopleAway. `code`, `errno`: those of SQLite or of the system. */
export type PeopleFault = Readonly<{
  isAway: boolean
  name: string
  message: string
  stack: string
  code: string | null
  errno: number | null
}>

export type FromPeopleThread =
  | Readonly<{ kind: 'answered'; number: number; result: SqlResult }>
  | Readonly<{ kind: 'failed'; number: number; fault: PeopleFault }>

/**
 * How far the thread has come, and up to which question main has given up, in memory that both have. Numbers grow, and the thread has them in their order. Each writes its
 * own before it reads the other's, so a question that was given up is not done, and one that is done was not given up.
 */
export class Progress {
  readonly buffer: SharedArrayBuffer
  readonly #numbers: BigInt64Array

  constructor(buffer = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#numbers = new BigInt64Array(buffer)
  }

  /** On the thread. False: main has given the question up. */
  begin(number: number): boolean {
    Atomics.store(this.#numbers, BEGUN, BigInt(number))
    return Atomics.load(this.#numbers, GIVEN_UP) < BigInt(number)
  }

  /** On main. False: the thread has begun the question, or another after it. */
  giveUp(number: number): boolean {
    const before = Atomics.load(this.#numbers, GIVEN_UP)
    if (before < BigInt(number)) Atomics.store(this.#numbers, GIVEN_UP, BigInt(number))
    return Atomics.load(this.#numbers, BEGUN) < BigInt(number)
  }
}

const BEGUN = 0
const GIVEN_UP = 1
