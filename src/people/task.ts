/** The questions to the thread of the people, and its replies, as data that crosses threads. Rules: pages.md "People". */

import type { Given, SqlResult } from './people-sql.ts'

/** `number`: the reply has the same. `isInside`: the question is part of the open transaction. */
export type ToPeopleThread =
  | Readonly<{ kind: 'open'; path: string }>
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
