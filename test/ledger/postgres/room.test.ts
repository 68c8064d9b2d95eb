/** Protects nodes.md "Connections": how many a process has, what each is called, and what does not fit is said with its number. */

import { expect, test } from 'bun:test'
import { connectionsOf } from '../../../src/core/connections.ts'
import { isRoomy, roomFor, textOfRoom } from '../../../src/ledger/postgres/room.ts'
import { MESSAGE } from '../../support/answered-gateway.ts'
import { nativeMessage, startFakeUpstream } from '../../support/fake-upstream.ts'
import { MODEL_ID, startTestGateway } from '../../support/gateway.ts'
import { asking } from '../../support/nodes.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'
import { connectPostgres, createPostgresLedger } from '../../support/postgres-connection.ts'

test('more connections go to claims and to limits', () => {
  expect([8, 9, 12, 20].map(connectionsOf)).toEqual([
    { answers: 1, limits: 1 },
    { answers: 2, limits: 1 },
    { answers: 4, limits: 2 },
    { answers: 10, limits: 4 },
  ])
})

postgresTest('a role that may have few is told how many there would be', async () => {
  const url = await createPostgresLedger()
  const admin = asking(postgres().asSuperuser(url))
  const db = connectPostgres(url)
  try {
    expect(roomFor(db)).toEqual({ allowed: 197, processes: 1, each: 8, needed: 16 })
    expect(roomFor(db, 10, { name: 'web/1', count: 4 })).toEqual({ allowed: 197, processes: 4, each: 10, needed: 80 })
    const database = new URL(url).pathname.slice(1)
    await admin.ask(`ALTER DATABASE ${database} CONNECTION LIMIT 15`)
    expect(isRoomy(roomFor(db))).toBeFalse()
    expect(textOfRoom(roomFor(db))).toBe(
      '1 process of 8 connections, and as many again during an upgrade: 16 of the 15 that the server allows',
    )
    await admin.ask(`ALTER DATABASE ${database} CONNECTION LIMIT 16`)
    expect(isRoomy(roomFor(db))).toBeTrue()
  } finally {
    db.close()
    await admin.close()
  }
})

postgresTest('a gateway whose every part is asked at once has eight, each named by its node and what it is for', async () => {
  const url = await createPostgresLedger()
  const outside = asking(postgres().asSuperuser(url))
  const upstream = await startFakeUpstream({ answer: () => nativeMessage(MESSAGE) })
  try {
    await using gateway = await startTestGateway({ upstreams: [upstream.url], postgres: { url }, limits: { requestsPerMinute: 10_000 } })
    const secret = await gateway.createKey()
    const body = { model: MODEL_ID, max_tokens: 16, messages: [{ role: 'user', content: 'Hi' }] }
    const asked = Array.from({ length: 40 }, async (_, n) => {
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': `k${n}` }
      const answer = await gateway.post('/v1/messages', secret, body, { headers })
      await gateway.world.reports.ask('a key', { kind: 'key', keyId: 'key_1' })
      await gateway.people().memberships.list()
      return answer.status
    })
    // A server that is slow to answer is a reason to refuse, and not to open a ninth connection.
    const statuses = await Promise.all(asked)
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(statuses).toContain(200)
    const found = await outside.ask<{ name: string; n: bigint }>(
      "SELECT application_name AS name, count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND usename = 'tollgate' GROUP BY 1 ORDER BY 1",
    )
    expect(found).toEqual([
      { name: 'tollgate n answers', n: 1n },
      { name: 'tollgate n limits', n: 1n },
      { name: 'tollgate n listens', n: 1n },
      { name: 'tollgate n node', n: 1n },
      { name: 'tollgate n people', n: 2n },
      { name: 'tollgate n reads', n: 1n },
      { name: 'tollgate n writes', n: 1n },
    ])
  } finally {
    await upstream.stop()
    await outside.close()
  }
})
