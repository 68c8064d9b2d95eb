/** What the tests of alerts find on a file holds on Postgres, too, where other nodes may be beside. Rules: pages.md "Alerts". */

import { peopleOnPostgres } from '../support/people-place.ts'
import { postgresSuite } from '../support/postgres.ts'

postgresSuite('on Postgres', async () => {
  peopleOnPostgres()
  // As a module of its own: another file of this process may have imported it.
  await import('./alerts.test.ts?postgres' as string)
})
