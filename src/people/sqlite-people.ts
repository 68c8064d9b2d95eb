/** The people's store in its file: one connection, on a thread of its own or on the one that asks, which all questions have in turns. Rules: pages.md "People". */

import { PeopleConnection } from './people-connection.ts'
import type { OneConnection, PeopleStore } from './people-sql.ts'
import { ThreadedConnection } from './threaded-connection.ts'
import { inTurns, type TurnLimits } from './turns.ts'

/** `startThread`: makes a Worker of `src/people/thread.ts`; undefined: in a process that does nothing else meanwhile, such as a command. */
export type PeopleFilePlace = Readonly<{ path: string; startThread?: () => Worker }>

/** Throws where the file cannot be opened; where it has a thread, the first question does. */
export function sqlitePeople({ path, startThread }: PeopleFilePlace, limits?: TurnLimits): PeopleStore {
  const connection = startThread === undefined ? hereAt(path) : new ThreadedConnection({ path, startThread })
  return { ...inTurns(connection, limits), close: () => connection.close() }
}

function hereAt(path: string): OneConnection {
  const connection = new PeopleConnection(path)
  connection.open()
  return {
    ask: (text, given, isInside) => ({ answer: Promise.try(() => connection.ask(text, given, isInside)), giveUp: () => false }),
    rollBack: () => Promise.resolve(connection.rollBack()),
    close: () => Promise.resolve(connection.close()),
  }
}
