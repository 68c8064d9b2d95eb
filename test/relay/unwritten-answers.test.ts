/** Protects requests.md "Kept answers", processes.md "Shared": what was asked for with `store: false` is given again at every relay, and never reaches a disk. */

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { KeptAnswers } from '../../src/answers/kept-answers.ts'
import { keptForRelays } from '../../src/answers-beside.ts'
import { makeSecret } from '../../src/core/key.ts'
import { type Claim, claimAnswer } from '../../src/relay/idempotency.ts'
import { IdempotentResponses } from '../../src/relay/idempotent-responses.ts'
import { ACT, createKey, holdRequest, makeFolder, settlement, sha256, usd } from '../support/ledger.ts'
import { openLedgerProcess, openTestRelay, type TestRelay } from '../support/relays.ts'
import { until } from '../support/until.ts'

const KEY = { id: 'key_1', accountId: 'acc_key_1' }
const SECRET = makeSecret(() => randomBytes(64))
const HASH = new Uint8Array(32).fill(1)

const claimAt = ({ ledger, shared }: TestRelay, answers: IdempotentResponses, header: string, requestId: string) => {
  const request = { headers: new Headers({ 'x-api-key': SECRET, 'idempotency-key': header }), url: 'http://gateway/v1/responses' }
  const parts = { ledger, answers, now: Date.now, claims: shared.claims, kept: shared.kept, onBug: () => undefined }
  return claimAnswer(parts, KEY, request, HASH, requestId)
}

test('the repetition of a request with store: false gets its answer at another relay, and only that of one without it is written', async () => {
  const path = join(makeFolder(), 'ledger.db')
  const written: string[] = []
  const disk = { keep: ({ id }: { id: string }) => void written.push(id), find: () => Promise.resolve('unknown') } as unknown as KeptAnswers
  const main = await openLedgerProcess(path, { kept: keptForRelays(() => disk, Date.now) })
  await main.ledger.operate(createKey('key_1', { balanceUsd: '10' }), ACT)
  const [one, other] = [await openTestRelay(path), await openTestRelay(path)]
  await until(() => one.ledger.mayAdmit() && other.ledger.mayAdmit(), 'both may admit')
  for (const [header, isStored] of [
    ['private', false],
    ['plain', true],
  ] as const) {
    const requestId = `req_${header}`
    await one.ledger.findKey(sha256('key_1'))
    expect(await one.ledger.hold(holdRequest(requestId, 'key_1', usd('0.5'), { now: Date.now() }))).toBe('held')
    const claim = (await claimAt(one, new IdempotentResponses({ now: Date.now }), header, requestId)) as Claim
    await one.ledger.settle({ ...settlement(requestId, { input: 10 }, { now: Date.now() }), idempotency: claim.idempotency })
    const head = { requestId, status: 200, contentType: 'application/json' }
    claim.answer.finish(head, Buffer.from(header), isStored)
    // The relays' words come over two connections.
    const found = { now: undefined as unknown }
    await until(async () => {
      found.now = await claimAt(other, new IdempotentResponses({ now: Date.now }), header, 'req_again')
      return (found.now as { kind?: string }).kind === 'finished'
    }, 'the answer is found at the other relay')
    expect(found.now).toMatchObject({ kind: 'finished', head, bytes: new Uint8Array(Buffer.from(header)) })
  }
  expect(written).toEqual(['request req_plain'])
  for (const { ledger } of [one, other]) await ledger.close()
  await main.ledger.close()
})
