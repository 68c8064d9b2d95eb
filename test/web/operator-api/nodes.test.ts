/**
 * The operator's API where several nodes share a ledger on Postgres: a token that one node revoked is refused by all with their next request, and two nodes that get one
 * Idempotency-Key at the same time do one act. Rules: operator-api.md "Tokens", "Writes".
 */

import { expect } from 'bun:test'
import { apiClient, clientOf } from '../../support/api-client.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { postgres, postgresTest } from '../../support/postgres.ts'

async function withNodes(work: (a: TestGateway, b: TestGateway) => Promise<void>): Promise<void> {
  const url = await postgres().createDatabase()
  const nodes: TestGateway[] = []
  try {
    for (let count = 0; count < 2; count++) nodes.push(await startTestGateway({ postgres: { url } }))
    const [a, b] = nodes
    if (a !== undefined && b !== undefined) await work(a, b)
  } finally {
    for (const node of nodes) await node.stop()
  }
}

postgresTest(
  'a token that was revoked on one node is refused on the other at once; writes under one key on both are one',
  () =>
    withNodes(async (a, b) => {
      const onA = await apiClient(a, { name: 'shop' })
      const onB = clientOf(b.operatorUrl, onA.token)
      // Each key has an account of its own, so that no row but the token's is in the way of two nodes.
      for (let round = 0; round < 10; round++) {
        const create = (client: typeof onA) => client.post('/keys', {}, `order-${round}`)
        const answers = await Promise.all([onA, onB, onA, onB, onB, onA].map(create))
        expect(answers.map(({ status, body }) => [status, body['error'] ?? null])).toEqual(answers.map(() => [200, null]))
        expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
        expect(answers.filter(({ body }) => body['secret'] !== null)).toHaveLength(1)
      }
      const keys = (await onB.get('/keys')).body as { data: unknown[] }
      expect(keys.data).toHaveLength(10)
      const nodes = (await onA.get('/nodes')).body as { data: { state: string }[] }
      expect(nodes.data.filter(({ state }) => state === 'running')).toHaveLength(2)
      expect(await a.ledger.operate({ kind: 'revokeToken', tokenId: onA.tokenId, now: Date.now() })).toEqual({ result: 'done' })
      expect((await onB.get('/accounts')).status).toBe(401)
      expect((await onA.get('/accounts')).status).toBe(401)
      expect([...a.logLines(), ...b.logLines()].filter((line) => 'alarm' in line)).toEqual([])
    }),
  60_000,
)
