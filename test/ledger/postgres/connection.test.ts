/** A connection to Postgres is as bun:sqlite's: the same shapes of values and rows, the same transactions; and what is lost is said and never goes on. */

import { Database } from 'bun:sqlite'
import { describe, expect } from 'bun:test'
import { readFileSync } from 'node:fs'
import { eq, sql } from 'drizzle-orm'
import { blob, customType, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { PostgresConnection } from '../../../src/ledger/postgres/connection.ts'
import { faultOf, isConflict, isStorageFailure, PostgresError } from '../../../src/ledger/postgres/storage-failure.ts'
import { PostgresArray } from '../../../src/ledger/postgres/values.ts'
import { type Connection, ormOf } from '../../../src/ledger/sql/connection.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres } from '../../support/postgres-connection.ts'
import { until } from '../../support/until.ts'

const TABLE = "CREATE TABLE a (n BIGINT PRIMARY KEY, b BYTEA, t TEXT CONSTRAINT no_x CHECK (t <> 'x'))"

const urlOf = new WeakMap<PostgresConnection, string>()

async function connect(timeoutMs = 5_000): Promise<PostgresConnection> {
  const url = await postgres().createDatabase()
  const connection = connectPostgres(url, { timeoutMs })
  urlOf.set(connection, url)
  connection.run('CREATE SCHEMA ledger')
  connection.run(TABLE)
  return connection
}

/** One that nobody has waited for yet (Z) does nothing any more. */
function isGone(pid: bigint | undefined): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

/** What it throws. */
function failureOf(work: () => unknown): PostgresError {
  try {
    work()
  } catch (error) {
    if (error instanceof PostgresError) return error
    throw error
  }
  throw new Error('it did not fail')
}

describe('values and rows', () => {
  postgresTest('have the shapes that SQLite gives them', async () => {
    const onPostgres = await connect()
    const onSqlite = new Database(':memory:', { safeIntegers: true, strict: true })
    onSqlite.run(TABLE.replace('BIGINT', 'INTEGER').replace('BYTEA', 'BLOB'))
    const seen = [onPostgres, onSqlite].map((db: Connection) => {
      const insert = db.query<unknown, { n: bigint | number; b: Uint8Array | null; t: string | null }>(
        'INSERT INTO a (n, b, t) VALUES ($n, $b, $t)',
      )
      const changes = [
        insert.run({ n: 9_007_199_254_740_993n, b: null, t: null }).changes,
        insert.run({ n: 3, b: new Uint8Array([1, 255]), t: "ä'?" }).changes,
        insert.run({ n: -1n, b: Buffer.alloc(0), t: '' }).changes,
        db.query<unknown, [string]>('UPDATE a SET t = ?1 WHERE n > 0').run('y').changes,
        db.query<unknown, []>('DELETE FROM a WHERE n = 7').run().changes,
      ]
      const all = db
        .query<unknown, [number]>('SELECT n AS "accountId", b, t, n > 2 AS is_more, 1 AS one, n AS t FROM a WHERE n >= ? ORDER BY n')
        .all(-5)
      const values = db.query<unknown, []>('SELECT t, t, n FROM a ORDER BY n').values()
      const none = db.query<unknown, []>('SELECT n FROM a WHERE n = 8').get()
      const one = db.query<unknown, { n: bigint }>('SELECT n FROM a WHERE n = :n').get({ n: 3n })
      const walked = [...db.query<unknown, [number]>('SELECT n, b FROM a WHERE n > ?1 ORDER BY n').iterate(-1)]
      const plain = (value: unknown): unknown => (value instanceof Uint8Array ? `blob ${Buffer.from(value).toString('hex')}` : value)
      return JSON.parse(
        JSON.stringify([changes, all, values, none, one, walked], (_, value) => {
          if (typeof value === 'bigint') return `${value}n`
          if (value?.type === 'Buffer') return `blob ${Buffer.from(value.data).toString('hex')}`
          if (value instanceof Uint8Array) return plain(value)
          return value
        }),
      )
    })
    expect(seen[0]).toEqual(seen[1])
    onPostgres.close()
    onSqlite.close()
  })

  postgresTest('a blob is a Buffer; a column of a type that SQLite has not is a bug', async () => {
    const db = await connect()
    db.query('INSERT INTO a VALUES (1, ?, NULL)').run(Buffer.from('ff00', 'hex'))
    expect(Buffer.isBuffer((db.query('SELECT b FROM a').get() as { b: Buffer }).b)).toBe(true)
    expect(() => db.query('SELECT sum(n) AS s FROM a').get()).toThrow(/column s has type 1700/)
    expect(db.query('SELECT CAST(sum(n) AS BIGINT) AS s FROM a').get() as unknown).toEqual({ s: 1n })
    expect(() => db.query('SELECT ?').get()).toThrow(/no value for parameter 1/)
    expect(() => db.query('SELECT $a').get({ b: 1 })).toThrow(/no value for a/)
    db.close()
  })

  postgresTest('whole columns are parameters', async () => {
    const db = await connect()
    const insert = db.query('INSERT INTO a SELECT * FROM unnest(?1::bigint[], ?2::bytea[], ?3::text[])')
    const blobs = [Buffer.from('00ff27', 'hex'), null, Buffer.alloc(0)]
    const texts = ['a"b\\c{},\'', null, 'NULL']
    const { changes } = insert.run(
      new PostgresArray(new BigInt64Array([1n, 2n, -(2n ** 63n)]), 'BIGINT'),
      new PostgresArray(blobs, 'BYTEA'),
      new PostgresArray(texts, 'TEXT'),
    )
    expect(changes).toBe(3)
    expect(db.query('SELECT n, b, t FROM a ORDER BY n').values() as unknown).toEqual([
      [-(2n ** 63n), blobs[2], texts[2]],
      [1n, blobs[0], texts[0]],
      [2n, null, null],
    ])
    db.close()
  })

  postgresTest('iterate takes what is asked for and no more, and lets others work between', async () => {
    const db = await connect()
    db.run('INSERT INTO a SELECT g, NULL, NULL FROM generate_series(1, 2000) g')
    let taken = 0
    for (const row of db.query('SELECT n FROM a ORDER BY n').iterate() as Iterable<{ n: bigint }>) {
      db.query('UPDATE a SET t = ? WHERE n = ?').run('seen', row.n)
      if (++taken === 700) break
    }
    expect(db.query('SELECT count(*) AS c FROM a WHERE t = ?').get('seen') as unknown).toEqual({ c: 700n })
    expect([...db.query('SELECT n FROM a').iterate()].length).toBe(2_000)
    db.close()
  })
})

describe('transactions', () => {
  const numbers = (db: Connection): unknown =>
    db
      .query<{ n: bigint }, []>('SELECT n FROM a ORDER BY n')
      .all()
      .map(({ n }) => n)
  const add = (db: Connection, n: number, t = '') => db.query<unknown, [number, string]>('INSERT INTO a (n, t) VALUES (?, ?)').run(n, t)

  postgresTest('all or nothing, and what is inside of one can be undone alone', async () => {
    const db = await connect()
    const done = db.transaction(() => {
      add(db, 1)
      expect(() =>
        db.transaction(() => {
          add(db, 2)
          add(db, 3, 'x')
        })(),
      ).toThrow('no_x')
      expect(() =>
        db.transaction(() => {
          add(db, 1)
        })(),
      ).toThrow('a_pkey')
      db.transaction(() => {
        db.transaction(() => add(db, 4))()
      })()
      return 'done'
    })()
    expect([done, numbers(db)]).toEqual(['done', [1n, 4n]])
    expect(() =>
      db.transaction(() => {
        add(db, 5)
        throw new Error('ours')
      })(),
    ).toThrow('ours')
    db.transaction(() => undefined)()
    expect(numbers(db)).toEqual([1n, 4n])
    db.close()
  })

  postgresTest('one that went on after a statement failed is not committed in silence', async () => {
    const db = await connect()
    const failure = failureOf(
      db.transaction(() => {
        add(db, 1)
        try {
          add(db, 2, 'x')
        } catch {}
      }),
    )
    expect(failure.sqlState).toBe('25P02')
    expect(numbers(db)).toEqual([])
    add(db, 3)
    expect(numbers(db)).toEqual([3n])
    db.close()
  })

  postgresTest('of a reader: it sees one moment and changes nothing', async () => {
    const db = await connect()
    const url = urlOf.get(db) ?? ''
    const reader = connectPostgres(url, { access: 'read' })
    reader.transaction(() => {
      expect(numbers(reader)).toEqual([])
      add(db, 1)
      expect(numbers(reader)).toEqual([])
    })()
    expect(numbers(reader)).toEqual([1n])
    expect(failureOf(() => add(reader, 2)).sqlState).toBe('25006')
    reader.close()
    db.close()
  })

  postgresTest('drizzle runs over it: insert, select with types, update, and its own transaction', async () => {
    const db = await connect()
    const whole = customType<{ data: number; driverData: bigint | number | null }>({ dataType: () => 'integer', fromDriver: Number })
    const table = sqliteTable('a', { n: whole('n').primaryKey(), b: blob('b', { mode: 'buffer' }), t: text('t') })
    const orm = ormOf(db)
    const find = orm
      .select()
      .from(table)
      .where(eq(table.n, sql.placeholder('n')))
      .prepare()
    const insert = orm
      .insert(table)
      .values({ n: sql.placeholder('n'), b: sql.placeholder('b'), t: 'y' })
      .onConflictDoNothing()
      .prepare()
    expect(find.get({ n: 7 })).toBeUndefined()
    insert.run({ n: 7, b: Buffer.from('ff', 'hex') })
    insert.run({ n: 7, b: null })
    expect(find.get({ n: 7 })).toEqual({ n: 7, b: Buffer.from('ff', 'hex'), t: 'y' })
    expect(find.all({ n: 7 })).toHaveLength(1)
    orm.transaction((tx) => tx.update(table).set({ t: 'z' }).where(eq(table.n, 7)).run())
    expect(orm.insert(table).values({ n: 8 }).returning({ n: table.n, t: table.t }).get()).toEqual({ n: 8, t: null })
    expect(orm.select({ n: table.n, t: table.t }).from(table).orderBy(table.n).all()).toEqual([
      { n: 7, t: 'z' },
      { n: 8, t: null },
    ])
    db.close()
  })
})

describe('failures', () => {
  const add = (db: Connection, n: number, t = '') => db.query<unknown, [number, string]>('INSERT INTO a (n, t) VALUES (?, ?)').run(n, t)
  const kinds = (error: PostgresError) => [
    error.sqlState,
    error.constraint,
    isStorageFailure(error),
    isConflict(error),
    error.isIndeterminate,
  ]

  postgresTest('broken rules are no storage failures, and say which rule', async () => {
    const db = await connect()
    add(db, 1)
    expect(kinds(failureOf(() => add(db, 1)))).toEqual(['23505', 'a_pkey', false, false, false])
    expect(kinds(failureOf(() => add(db, 2, 'x')))).toEqual(['23514', 'no_x', false, false, false])
    expect(kinds(failureOf(() => db.query('SELECT n + 9223372036854775807 FROM a').get()))).toEqual(['22003', '', false, false, false])
    expect(kinds(failureOf(() => db.query('SELECT nothing').get()))).toEqual(['42703', '', false, false, false])
    expect(kinds(failureOf(() => db.run("DO $$ BEGIN RAISE 'no' USING ERRCODE = 'integrity_constraint_violation'; END $$")))).toEqual([
      '23000',
      '',
      false,
      false,
      false,
    ])
    const failure = failureOf(() => add(db, 1))
    expect(faultOf('it', failure)).toEqual({ problem: 'it: 23505 duplicate key value violates unique constraint "a_pkey"' })
    expect(faultOf('it', new TypeError('ours')).bug).toBeDefined()
    db.close()
  })

  postgresTest('a deadlock is a conflict: one of the two is undone, the other goes on', async () => {
    const db = await connect()
    add(db, 1)
    add(db, 2)
    const other = new Worker(new URL('./deadlock.ts', import.meta.url))
    const next = () => new Promise<unknown>((resolve) => other.addEventListener('message', ({ data }) => resolve(data), { once: true }))
    expect(await next()).toBe('ready')
    const told = next()
    const url = urlOf.get(db)
    const failures: string[] = []
    const write = db.transaction(() => {
      db.query('UPDATE a SET t = ? WHERE n = 1').run('first')
      other.postMessage(url)
      // Until the other one waits for row 1.
      const waiting: Connection = db
      const isWaiting = () => waiting.query<{ c: bigint }, []>('SELECT count(*) AS c FROM pg_locks WHERE NOT granted').get()?.c !== 0n
      for (let turns = 0; !isWaiting(); turns++) {
        // No time limit of a test ends a thread that stands still.
        if (turns > 1_000) throw new Error('the other one does not come')
        Bun.sleepSync(10)
      }
      db.query('UPDATE a SET t = ? WHERE n = 2').run('first')
    })
    try {
      write()
    } catch (error) {
      if (isConflict(error)) failures.push('first')
    }
    if ((await told) === 'conflict') failures.push('second')
    expect(failures).toHaveLength(1)
    other.terminate()
    db.close()
  })

  postgresTest('a lost connection: alone it is indeterminate, in a transaction it is not; then it is made anew', async () => {
    const db = await connect()
    const admin: Connection = connectPostgres(postgres().asSuperuser(urlOf.get(db) ?? ''))
    const cut = () => admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tollgate'").all()
    cut()
    expect(kinds(failureOf(() => add(db, 1)))).toEqual(['57P01', '', true, false, true])
    add(db, 2)
    const failure = failureOf(
      db.transaction(() => {
        add(db, 3)
        cut()
        expect(kinds(failureOf(() => add(db, 4)))).toEqual(['57P01', '', true, false, false])
        // Never in a new connection: it would be committed without the first half.
        expect(kinds(failureOf(() => add(db, 5)))).toEqual(['08006', '', true, false, false])
        expect(kinds(failureOf(() => db.transaction(() => add(db, 6))()))).toEqual(['08006', '', true, false, false])
      }),
    )
    expect(failure.sqlState).toBe('25P02')
    const uncommitted = failureOf(
      db.transaction(() => {
        add(db, 7)
        cut()
      }),
    )
    expect(kinds(uncommitted)).toEqual(['57P01', '', true, false, true])
    expect(db.query('SELECT n FROM a').values() as unknown).toEqual([[2n]])
    db.close()
    admin.close()
  })

  postgresTest('Postgres ends what takes too long, and the connection lives', async () => {
    const db = await connect(300)
    const pid = db.query('SELECT pg_backend_pid() AS pid').get() as unknown
    expect(kinds(failureOf(() => db.query('SELECT pg_sleep(2)').get()))).toEqual(['57014', '', true, false, false])
    expect(db.query('SELECT pg_backend_pid() AS pid').get() as unknown).toEqual(pid)
    db.close()
  })

  postgresTest('who does not answer at all is given up, indeterminate; what stood still there is undone', async () => {
    const db = await connect(300)
    const admin: Connection = connectPostgres(postgres().asSuperuser(urlOf.get(db) ?? ''))
    const pid = Number((db.query('SELECT pg_backend_pid() AS pid').get() as { pid: bigint }).pid)
    process.kill(pid, 'SIGSTOP')
    const began = performance.now()
    expect(kinds(failureOf(() => add(db, 1)))).toEqual(['08006', '', true, false, true])
    expect(performance.now() - began).toBeLessThan(30_000)
    add(db, 2)
    process.kill(pid, 'SIGCONT')
    expect(db.query('SELECT count(*) AS c FROM a WHERE n = 2').get() as unknown).toEqual({ c: 1n })
    for (
      let i = 0;
      i < 100 && (admin.query('SELECT count(*) AS c FROM pg_stat_activity WHERE pid = ?').get(pid) as { c: bigint }).c > 0n;
      i++
    )
      await Bun.sleep(20)
    expect(admin.query('SELECT count(*) AS c FROM pg_stat_activity WHERE pid = ?').get(pid) as unknown).toEqual({ c: 0n })
    db.close()
    admin.close()
  })

  for (const how of ['immediate', 'kill'] as const) {
    postgresTest(
      `Postgres is gone by ${how}: a storage failure, without the address in its words; it works again when it is back`,
      async () => {
        const db = await connect()
        add(db, 1)
        const served = db.query('SELECT CAST(pg_backend_pid() AS BIGINT) AS pid').get() as { pid: bigint } | null
        await (how === 'kill' ? postgres().kill() : postgres().stop(how))
        // Who served it finds out that its parent is dead, and may answer once more before.
        await until(() => isGone(served?.pid), 'the server process is gone')
        const failure = failureOf(() => add(db, 2))
        expect(isStorageFailure(failure)).toBe(true)
        const again = failureOf(() => add(db, 3))
        expect([again.sqlState, again.isIndeterminate]).toEqual(['08001', false])
        expect(failure.message + again.message).not.toMatch(/only-for-tests|127\.0\.0\.1/)
        await postgres().start()
        add(db, 4)
        expect(db.query('SELECT n FROM a ORDER BY n').values() as unknown).toEqual([[1n], [4n]])
        db.close()
      },
    )
  }
})
