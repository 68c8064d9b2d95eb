/** Opens the people's store: a file beside the ledger, or the database that the ledger is in. Rules: pages.md "People". */

import { peoplePathOf } from './people-file.ts'
import type { PeopleStore } from './people-sql.ts'
import { postgresPeople } from './postgres/postgres-people.ts'
import { type PeopleFilePlace, sqlitePeople } from './sqlite-people.ts'

/** `url`: `postgres://…`. `node`: the node whose pages ask, for pg_stat_activity. */
export type PeoplePlace = PeopleFilePlace | Readonly<{ url: string; node?: string }>

/** The settings of the ledger that say where the people's store is. */
type Ledger = Readonly<{ kind: 'sqlite'; path: string }> | Readonly<{ kind: 'postgres'; url: string; node: string }>

/** `startThread`: of a process that does more than to ask the people. */
export const peoplePlaceOf = (ledger: Ledger, startThread?: () => Worker): PeoplePlace =>
  ledger.kind === 'postgres'
    ? { url: ledger.url, node: ledger.node }
    : { path: peoplePathOf(ledger.path), ...(startThread === undefined ? {} : { startThread }) }

/** Throws where a file cannot be opened here. An error of a database, or of a file with a thread, shows at its first question. */
export const openPeople = (place: PeoplePlace): PeopleStore =>
  'url' in place ? postgresPeople(place.url, place.node) : sqlitePeople(place)
