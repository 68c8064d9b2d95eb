/** Protects keys.md "Rates over nodes": Postgres counts as the memory of one process does, by its own clock, and a node that is gone runs nothing. */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { CountedRates } from '../../../src/ledger/counted-rates.ts'
import type { NodeIdentity } from '../../../src/ledger/nodes.ts'
import { PostgresRates } from '../../../src/ledger/postgres/rates.ts'
import { Session, SessionFailure } from '../../../src/ledger/postgres/session.ts'
import type { RateAnswer, RateAsk, RateOwner } from '../../../src/ledger/shared-rates.ts'
import { asking, freshLedger } from '../../support/nodes.ts'
import { PATIENT } from '../../support/patient.ts'
import { postgresTest } from '../../support/postgres.ts'

async function makeNode(url: string, outside: ReturnType<typeof asking>) {
  const bootId = crypto.randomUUID()
  const [row] = await outside.ask<{ lane: bigint; boot: bigint; epoch: bigint }>(
    "SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('n', $1, 1000000000)",
    [bootId],
  )
  const identity: NodeIdentity = { lane: Number(row?.lane), boot: Number(row?.boot), epoch: Number(row?.epoch), bootId }
  const session = new Session({ url, name: 'rates', limitMs: 5_000, connections: 3 })
  return { identity, session, rates: new PostgresRates({ session, identity: () => identity, patience: PATIENT }) }
}

const NONE = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrentRequests: null }
const owner = (name: string, limits: Partial<RateOwner['limits']>, running = 1): RateOwner => ({
  name,
  limits: { ...NONE, ...limits },
  running,
})
const one = (of: RateOwner, inputTokens: number | null = 1): RateAsk => ({ owners: [of], wanted: { inputTokens }, slots: 1 })

function answered(answer: RateAnswer | 'unavailable' | undefined): RateAnswer {
  if (answer === 'unavailable' || answer === undefined) throw new Error('unavailable')
  return answer
}

/** The rates are so low that nothing flows back while the test runs. */
const limit = fc.option(fc.integer({ min: 1, max: 60 }), { nil: null })
const limits = fc.record({ requestsPerMinute: limit, inputTokensPerMinute: limit, outputTokensPerMinute: limit, concurrentRequests: limit })
const amount = fc.integer({ min: -40, max: 40 })
const act = fc.record({
  node: fc.nat(1),
  slots: fc.constantFrom(0 as const, 1 as const),
  tokens: fc.option(fc.nat(80), { nil: null }),
  correction: fc.option(fc.record({ requests: amount, input: amount, output: amount }), { nil: null }),
  running: fc.nat(30),
})

postgresTest('over random histories Postgres decides as the memory of one process does', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const nodes = [await makeNode(url, outside), await makeNode(url, outside)]
  let names = 0
  let corrected = 0
  try {
    await fc.assert(
      fc.asyncProperty(limits, limits, fc.array(act, { maxLength: 12 }), async (ofKey, ofPlan, acts) => {
        const name = `${++names}`
        // A minute here is a fraction of a second there, so nothing flows back in memory while Postgres has a moment; both are compared within that.
        const memory = new CountedRates(() => 0)
        for (const { identity } of nodes) memory.join(identity.boot, [])
        for (const { node: n, slots, tokens, correction, running } of acts) {
          const node = nodes[n] as (typeof nodes)[number]
          const owners = [owner(`key ${name}`, ofKey, running + slots), owner(`plan ${name}`, ofPlan, running + slots)]
          if (correction !== null) {
            const corrections = owners.map((of) => ({ owner: of, amounts: correction }))
            expect(await node.rates.correct(corrections, ++corrected)).toBe('done')
            memory.correct(node.identity.boot, corrections)
          }
          // What has flowed back meanwhile is taken again: the clock of the rows is set to now.
          await outside.ask(
            "UPDATE rate_levels SET at_us = trunc(extract(epoch FROM clock_timestamp()) * 1000000) + 3600000000 WHERE owner LIKE '%' || $1",
            [` ${name}`],
          )
          const ask: RateAsk = { owners, wanted: { inputTokens: tokens }, slots }
          const [theirs, ours] = [answered(await node.rates.take(ask)), memory.take(node.identity.boot, ask)]
          await outside.ask(
            "UPDATE rate_levels SET at_us = trunc(extract(epoch FROM clock_timestamp()) * 1000000) + 3600000000 WHERE owner LIKE '%' || $1",
            [` ${name}`],
          )
          expect(theirs).toEqual(ours)
        }
      }),
      { numRuns: 25 },
    )
  } finally {
    for (const { session } of nodes) session.close()
    await outside.close()
  }
})

postgresTest('of a minute there is once over all nodes who ask at the same moment, and what flows back goes by its clock', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const nodes = await Promise.all([1, 2, 3].map(() => makeNode(url, outside)))
  try {
    const of = owner('plan a p', { requestsPerMinute: 6, inputTokensPerMinute: 1_000_000 })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => nodes[n % 3]?.rates.take(one(of, 10))))
    expect(answers.filter((answer) => answered(answer).isAdmitted)).toHaveLength(6)
    expect(answers.map((answer) => answered(answer).nodes)).toEqual(Array(60).fill(3))
    await outside.ask("UPDATE rate_levels SET at_us = at_us - 20500000 WHERE owner = 'plan a p'")
    const later = await Promise.all(Array.from({ length: 9 }, (_, n) => nodes[n % 3]?.rates.take(one(of, 10))))
    expect(later.filter((answer) => answered(answer).isAdmitted)).toHaveLength(2)
    // A clock that was far ahead locks nobody out for longer than what was taken.
    await outside.ask("UPDATE rate_levels SET at_us = 9000000000000000 WHERE owner = 'plan a p'")
    expect(answered(await nodes[0]?.rates.take(one(of, 10))).isAdmitted).toBe(false)
    await outside.ask("UPDATE rate_levels SET at_us = at_us - 10100000 WHERE owner = 'plan a p'")
    expect(answered(await nodes[0]?.rates.take(one(of, 10))).isAdmitted).toBe(true)
  } finally {
    for (const { session } of nodes) session.close()
    await outside.close()
  }
})

postgresTest(
  'requests at once are never more than there may be, the last word of a node holds, and a node that is gone runs none',
  async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const [a, b] = [await makeNode(url, outside), await makeNode(url, outside)]
    try {
      const of = (running: number) => owner('plan a p', { concurrentRequests: 5 }, running)
      const answers = await Promise.all([1, 2, 3, 4, 5].flatMap((n) => [a.rates.take(one(of(n))), b.rates.take(one(of(n)))]))
      const admitted = answers.filter((answer) => answered(answer).isAdmitted).length
      expect(admitted).toBeWithin(1, 6)
      expect(await a.rates.correct([{ owner: of(5), amounts: { requests: 0, input: 0, output: 0 } }], 1)).toBe('done')
      expect(await b.rates.correct([{ owner: of(0), amounts: { requests: 0, input: 0, output: 0 } }], 1)).toBe('done')
      const full = answered(await b.rates.take(one(of(1))))
      expect([full.isAdmitted, full.owners[0]?.isFull]).toEqual([false, true])
      await outside.ask('SELECT free_lanes(ARRAY[$1::bigint])', [a.identity.lane])
      expect(answered(await b.rates.take(one(of(1)))).isAdmitted).toBe(true)
    } finally {
      for (const { session } of [a, b]) session.close()
      await outside.close()
    }
  },
)

postgresTest(
  'a correction that was counted and whose answer was lost is not counted once more, and what runs is said all the same',
  async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const node = await makeNode(url, outside)
    try {
      let isLost = true
      const session = {
        ask: async <Row>(...asked: Parameters<Session['ask']>) => {
          const rows = await node.session.ask<Row>(...asked)
          if (isLost) throw new SessionFailure('08006', 'the connection was lost')
          return rows
        },
      }
      const rates = new PostgresRates({ session, identity: () => node.identity, patience: PATIENT })
      const of = (running: number) => owner('plan a p', { inputTokensPerMinute: 100_000 }, running)
      const ended = { amounts: { requests: 0, input: 50_000, output: 0 } }
      expect(await rates.correct([{ owner: of(3), ...ended }], 1)).toBe('unavailable')
      isLost = false
      expect(await rates.correct([{ owner: of(2), ...ended }], 1)).toBe('done')
      const [row] = await outside.ask<{ input: number; running: bigint }>(
        'SELECT input, running FROM rate_levels JOIN rate_running USING (owner)',
      )
      expect([Number(row?.input) > 50_000, Number(row?.running)]).toEqual([false, 2])
      expect(await rates.correct([{ owner: of(0), ...ended }], 2)).toBe('done')
      const [later] = await outside.ask<{ input: number }>('SELECT input FROM rate_levels')
      expect(Number(later?.input) > 50_000).toBe(true)
    } finally {
      node.session.close()
      await outside.close()
    }
  },
)

postgresTest(
  'a correction that the server has undone is counted when it is said again, and one that was refused again after a lost answer is not',
  async () => {
    const url = await freshLedger()
    const outside = asking(url)
    const node = await makeNode(url, outside)
    try {
      let fails: string[] = []
      const session = {
        ask: <Row>(...asked: Parameters<Session['ask']>): Promise<readonly Row[]> => {
          const [state, ...rest] = fails
          fails = rest
          return state === undefined ? node.session.ask<Row>(...asked) : Promise.reject(new SessionFailure(state, 'it failed'))
        },
      }
      const rates = new PostgresRates({ session, identity: () => node.identity, patience: PATIENT })
      const correction = {
        owner: owner('plan a p', { inputTokensPerMinute: 100_000 }, 0),
        amounts: { requests: 0, input: 50_000, output: 0 },
      }
      const inputOf = async (): Promise<number> => Number((await outside.ask<{ input: number }>('SELECT input FROM rate_levels'))[0]?.input)
      fails = ['55P03']
      expect(await rates.correct([correction], 1)).toBe('unavailable')
      expect(await rates.correct([correction], 1)).toBe('done')
      expect((await inputOf()) > 25_000).toBe(true)
      await outside.ask('UPDATE rate_levels SET input = 0')
      for (const state of ['57P01', '55P03']) {
        fails = [state]
        expect(await rates.correct([correction], 2)).toBe('unavailable')
      }
      expect(await rates.correct([correction], 2)).toBe('done')
      expect(await inputOf()).toBe(0)
    } finally {
      node.session.close()
      await outside.close()
    }
  },
)

test('a refusal that comes after a later correction was sent does not make that one count twice', async () => {
  const sent: unknown[] = []
  const waiting: Readonly<{ resolve: (rows: readonly never[]) => void; reject: (error: unknown) => void }>[] = []
  const session = {
    ask<Row>(_text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Row[]>()
      sent.push((JSON.parse(String(values[3])) as readonly { input: number }[])[0]?.input)
      waiting.push({ resolve, reject })
      return promise
    },
  }
  let giveUp = (): void => undefined
  const patience = {
    isOver: false,
    whileHeard: <T>(working: Promise<T>): Promise<T | 'unavailable'> => {
      const givenUp = new Promise<'unavailable'>((resolve) => {
        giveUp = () => resolve('unavailable')
      })
      return Promise.race([working, givenUp])
    },
  }
  const identity: NodeIdentity = { lane: 1, boot: 1, epoch: 1, bootId: 'boot' }
  const rates = new PostgresRates({ session, identity: () => identity, patience })
  const ended = { owner: owner('plan a p', { inputTokensPerMinute: 100 }, 0), amounts: { requests: 0, input: 7, output: 0 } }
  const givenUp = (number: number): Promise<unknown> => {
    const corrected = rates.correct([ended], number)
    giveUp()
    return corrected
  }
  expect(await givenUp(1)).toBe('unavailable')
  const again = rates.correct([ended], 1)
  waiting[1]?.resolve([])
  expect(await again).toBe('done')
  const next = rates.correct([ended], 2)
  waiting[0]?.reject(new SessionFailure('55P03', 'it waited for a lock for too long'))
  giveUp()
  expect(await next).toBe('unavailable')
  await Bun.sleep(0)
  expect(await givenUp(2)).toBe('unavailable')
  expect(sent).toEqual([7, 0, 7, 0])
})

postgresTest('a node that may not count, or whose connection fails, is told so', async () => {
  const url = await freshLedger()
  const outside = asking(url)
  const node = await makeNode(url, outside)
  const of = owner('plan a p', { requestsPerMinute: 6 })
  const unjoined = new PostgresRates({ session: node.session, identity: () => undefined, patience: PATIENT })
  expect(await unjoined.take(one(of))).toBe('unavailable')
  const lost = new Session({ url: url.replace(/:\d+\//, ':1/'), name: 'rates', limitMs: 500 })
  const rates = new PostgresRates({ session: lost, identity: () => node.identity, patience: PATIENT })
  expect(await rates.take(one(of))).toBe('unavailable')
  expect(await rates.correct([], 1)).toBe('unavailable')
  for (const session of [node.session, lost]) session.close()
  await outside.close()
})
