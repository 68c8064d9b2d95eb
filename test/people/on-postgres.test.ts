/** What the tests of people, of their sign-in routes and of members find on a file holds on Postgres, too. Rules: pages.md "People". */

import { describe } from 'bun:test'
import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite } from '../support/postgres.ts'

const FILES = [
  './find-people.test.ts',
  './links.test.ts',
  './views.test.ts',
  '../web/api/sign-in.test.ts',
  '../web/api/guard.test.ts',
  '../web/api/failed-sign-ins.test.ts',
  '../web/api/first-password.test.ts',
  '../web/api/mail.test.ts',
  '../web/api/members.test.ts',
]

postgresSuite('on Postgres', () => {
  peopleOnPostgres()
  // As modules of their own: another file of this process may have imported them.
  for (const file of FILES) describe(file, async () => void (await import(`${file}?postgres`)))
})
