/** The people's store in Postgres: whoever is about the same waits, others do not; a database that is away is said to be, and comes back. Rules: pages.md "People". */

import { afterEach, beforeEach, expect } from 'bun:test'
import { PeopleAway, type PeopleSql, type PeopleStore, type Subject } from '../../../src/people/people-sql.ts'
import { postgresPeople } from '../../../src/people/postgres/postgres-people.ts'
import { postgres, postgresSuite, postgresTest } from '../../support/postgres.ts'

let url: string
let stores: PeopleStore[]
const open = (): PeopleStore => {
  const store = postgresPeople(url)
  stores.push(store)
  return store
}

postgresSuite('on Postgres', () => {
  beforeEach(async () => {
    url = await postgres().createDatabase()
    stores = []
  })
  afterEach(() => Promise.all(stores.map((store) => store.close())))

  postgresTest(
    'of two nodes that are about the same one waits, whatever else each names and in which order; others do not wait',
    async () => {
      const [one, other] = [open(), open()]
      const order: string[] = []
      const held = Promise.withResolvers<void>()
      const isHeld = Promise.withResolvers<void>()
      const both = ['account a', 'email b'] as const
      const first = one.transaction(both, async () => {
        isHeld.resolve()
        await held.promise
        order.push('first')
      })
      await isHeld.promise
      const inTurn = (subjects: readonly Subject[], name: string) =>
        other.transaction(subjects, () => {
          order.push(name)
          return Promise.resolve()
        })
      const same = inTurn(['email b', 'account a'], 'same')
      await inTurn(['account c'], 'another')
      await Bun.sleep(50)
      held.resolve()
      await Promise.all([first, same])
      expect(order).toEqual(['another', 'first', 'same'])
    },
  )

  postgresTest('whoever names the same in another order waits, and never in a circle', async () => {
    const [one, other] = [open(), open()]
    const slowly = (sql: PeopleSql) => sql.all('SELECT pg_sleep(0.002)')
    const rounds = Array.from({ length: 30 }, () => [
      one.transaction(['account a', 'email b'], slowly),
      other.transaction(['email b', 'account a'], slowly),
    ])
    expect(await Promise.all(rounds.flat())).toHaveLength(60)
  })

  postgresTest('what throws leaves nothing, and what it did not await is no part of it', async () => {
    const store = open()
    const failing = store.transaction(['account a'], async (sql) => {
      await sql.run("INSERT INTO secrets (name, value) VALUES ('a', $value)", { value: new Uint8Array([255, 0]) })
      await sql.transaction(['account b'], (inner) => inner.run("INSERT INTO secrets (name, value) VALUES ('b', '')"))
      throw new Error('a bug')
    })
    await expect(failing).rejects.toThrow('a bug')
    expect(await store.all('SELECT * FROM secrets')).toEqual([])
  })

  postgresTest(
    'numbers, texts, bytes and nulls come back as they were given; a question with a mistake is no database that is away',
    async () => {
      const store = open()
      const given = { at: 1_795_000_000_000, text: `a'b"$1`, none: null, bytes: new Uint8Array([255, 0, 7]) }
      const select =
        'SELECT CAST($at AS BIGINT) AS at, CAST($text AS TEXT) AS text, CAST($none AS TEXT) AS none, CAST($bytes AS BYTEA) AS bytes, count(*) AS n'
      const row = await store.get<typeof given & { n: number }>(select, given)
      expect({ ...row, bytes: [...(row?.bytes ?? [])] }).toEqual({ ...given, bytes: [255, 0, 7], n: 1 })
      const mistake = await store.all('SELECT nothing').catch((error: unknown) => error)
      expect([mistake instanceof Error, mistake instanceof PeopleAway]).toEqual([true, false])
      expect(await store.get('SHOW transaction_isolation')).toEqual({ transaction_isolation: 'read committed' })
      await expect(store.all('SELECT CAST($missing AS TEXT)')).rejects.toThrow('$missing is not given')
    },
  )

  postgresTest('while the database is away each question says so at once, and the first after it is back is answered', async () => {
    const store = open()
    expect(await store.get('SELECT 1 AS one')).toEqual({ one: 1 })
    const begun = store.transaction(['account a'], async (sql) => {
      await postgres().stop('immediate')
      return sql.all('SELECT 1')
    })
    await expect(begun).rejects.toBeInstanceOf(PeopleAway)
    const later = open()
    for (const asked of [store, later]) await expect(asked.all('SELECT 1')).rejects.toBeInstanceOf(PeopleAway)
    await postgres().start()
    for (const asked of [store, later]) expect(await asked.get('SELECT 1 AS one')).toEqual({ one: 1 })
  })
})
