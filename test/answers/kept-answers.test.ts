/** The thread of kept answers is never waited for, and whatever becomes of it loses answers alone. Rules: requests.md "Kept answers". */

import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnswersEvent, KeptAnswers, type KeptAnswersOptions } from '../../src/answers/kept-answers.ts'
import { sealingKeyOf } from '../../src/answers/sealing.ts'
import type { FromAnswersThread, ToAnswersThread } from '../../src/answers/task.ts'
import type { AnswerToKeep } from '../../src/answers/waiting-answers.ts'
import { startAnswersThread } from '../support/threads.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const KEY = sealingKeyOf('sk-a')
const ending: (() => void)[] = []
afterEach(() => {
  for (const end of ending.splice(0).toReversed()) end()
})

function make(more: Partial<KeptAnswersOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-answers-'))
  const events: AnswersEvent[] = []
  const options = { path: join(folder, 'a.answers'), bytesMax: 1024 * MIB, startThread: startAnswersThread, ...more }
  const kept = new KeptAnswers({ ...options, onEvent: (one) => events.push(one) })
  ending.push(() => {
    kept.close().catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  })
  return { kept, events, path: options.path }
}

const answer = (id: string, pieces: readonly Uint8Array[], more: Partial<AnswerToKeep> = {}): AnswerToKeep => ({
  key: KEY,
  accountId: 'acc_1',
  id,
  items: [],
  expiresAt: Date.now() + 60_000,
  text: 'text',
  parts: [{ pieces }],
  ...more,
})

test('an answer of any length and any pieces comes back byte for byte, for its key alone', async () => {
  const { kept, events, path } = make()
  const sizes = [[0], [1], [], [262_143, 1, 262_145], [7, 0, 9 * MIB, 3]]
  const pieces = sizes.map((each) => each.map((size) => new Uint8Array(randomBytes(size))))
  for (const [n, each] of pieces.entries()) kept.keep(answer(`a${n}`, each))
  await kept.close()
  const again = make({ path }).kept
  for (const [n, each] of pieces.entries()) {
    const found = await again.find(KEY, 'nothing', `a${n}`)
    if (typeof found === 'string') throw new Error(`${n} is ${found}`)
    expect([found.text, found.parts.length]).toEqual(['text', 1])
    expect(Buffer.compare(found.parts[0]?.bytes ?? new Uint8Array(1), Buffer.concat(each))).toBe(0)
    expect(await again.find(sealingKeyOf('sk-b'), `a${n}`)).toBe('unknown')
  }
  expect(events).toEqual([])
})

test('keeping comes back at once, whatever the size, and an account that is too fast takes no room of another', async () => {
  const { kept, events } = make()
  const large = new Uint8Array(6 * MIB)
  for (let n = 0; n < 5; n++) kept.keep(answer(`a${n}`, [large]))
  kept.keep(answer('b', [new Uint8Array(10)], { accountId: 'acc_2' }))
  expect(events).toEqual(
    Array.from({ length: 3 }, () => ({ kind: 'lost', problem: 'answers come faster than they are written', answers: 1 })),
  )
  const found = async (id: string): Promise<boolean> => typeof (await kept.find(KEY, id)) !== 'string'
  await until(() => found('b'))
  expect([await found('a0'), await found('a1'), await found('a2'), await found('b')]).toEqual([true, true, false, true])
  kept.keep(answer('later', [large]))
  await until(() => found('later'))
  expect(events).toHaveLength(3)
})

test('a thread that dies loses what it had, is told, and is not asked again for a while: then an answer cannot be said, not be denied', async () => {
  let starts = 0
  const { kept, events } = make({
    startThread: () => {
      starts++
      return new Worker('data:text/javascript,onmessage=()=>process.exit(1)')
    },
  })
  kept.keep(answer('a', [new Uint8Array(10)]))
  expect(await kept.find(KEY, 'a')).toBe('unavailable')
  expect(events).toContainEqual({ kind: 'lost', problem: 'the thread of kept answers died', answers: 1 })
  kept.keep(answer('b', [new Uint8Array(10)]))
  expect(await kept.find(KEY, 'b')).toBe('unavailable')
  expect(starts).toBe(1)
})

for (const [what, change, problem] of [
  ['a rule of its own is broken', 'CREATE UNIQUE INDEX theirs ON answers (account)', 'constraint'],
  ['a table of its own is not there', 'ALTER TABLE gone RENAME TO theirs', 'no such table'],
] as const)
  test(`a file in which nothing can be written any more, since ${what}, is damaged: another is begun`, async () => {
    const { kept, path } = make()
    kept.keep(answer('a', [new Uint8Array(10)]))
    await kept.close()
    const db = new Database(path)
    db.run(change)
    db.close()
    const again = make({ path })
    again.kept.keep(answer('b', [new Uint8Array(10)]))
    await again.kept.close()
    expect(again.events).toMatchObject([{ kind: 'setAside', problem: expect.stringContaining(problem) }])
    expect(await make({ path }).kept.find(KEY, 'b')).toMatchObject({ text: 'text' })
  })

test('a row that is over is not found, and says so', async () => {
  const { kept } = make()
  kept.keep(answer('a', [new Uint8Array(10)], { expiresAt: Date.now() - 1 }))
  let found = await kept.find(KEY, 'a')
  while (found === 'unknown') found = await kept.find(KEY, 'a')
  expect(found).toBe('expired')
})

test('where the file cannot be made, that is told, and nothing else happens', async () => {
  const { kept, events } = make({ path: '/proc/nowhere/a.answers' })
  kept.keep(answer('a', [new Uint8Array(10)]))
  expect(await kept.find(KEY, 'a')).toBe('unknown')
  await kept.close()
  expect(events.length).toBeGreaterThan(0)
  for (const one of events) expect(one).toMatchObject({ kind: 'lost', answers: 1 })
})

/** Whoever looks for an answer may hold others up: a body is read in a line with those of all accounts. */
test('a thread that stands still is waited for once, and asked again when it has spoken', async () => {
  const asked: ToAnswersThread[] = []
  let say: (message: FromAnswersThread) => void = () => undefined
  const thread = {
    addEventListener: (name: string, hear: (event: { data: FromAnswersThread }) => void) => {
      if (name === 'message') say = (data) => hear({ data })
    },
    postMessage: (message: ToAnswersThread) => void asked.push(message),
    terminate: () => undefined,
  }
  const { kept } = make({ startThread: () => thread as unknown as Worker, findMs: 20 })
  const looks = (): readonly number[] => asked.flatMap((message) => (message.kind === 'find' ? [message.number] : []))
  expect(await kept.find(KEY, 'a')).toBe('unavailable')
  expect(await kept.find(KEY, 'b')).toBe('unavailable')
  expect(looks()).toEqual([1])
  say({ kind: 'found', number: 1, found: 'unknown' })
  const third = kept.find(KEY, 'c')
  expect(looks()).toHaveLength(2)
  say({ kind: 'found', number: looks().at(-1) ?? 0, found: 'expired' })
  expect(await third).toBe('expired')
})
