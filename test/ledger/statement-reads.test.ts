/** A statement in parts is the statement: the same bytes as at once, whatever is written meanwhile. Rules: ledger.md "Statements". */

import { afterAll, expect, test } from 'bun:test'
import { statementLines } from '../../src/ledger/chain/statement.ts'
import { statementKeyOf } from '../../src/ledger/chain/statement-key.ts'
import { Reads } from '../../src/ledger/reading/reads.ts'
import { StatementReads } from '../../src/ledger/reading/statement-reads.ts'
import { statementStream } from '../../src/ledger/reading/statement-stream.ts'
import { createKey, holdTask, type Machine, makePath, NOW, openMachine, operateTask, settleTask, usd } from '../support/ledger.ts'
import { startThread } from '../support/threads.ts'

const path = makePath()
const machine: Machine = openMachine(path)
machine.ask(operateTask(createKey('key_a', { balanceUsd: '1000' })))
machine.ask(operateTask(createKey('key_b', { balanceUsd: '1000' })))
let written = 0
function write(count: number): void {
  for (let n = 0; n < count; n++) {
    const id = `req_${written}`
    const keyId = written % 3 === 0 ? 'key_b' : 'key_a'
    machine.ask(holdTask(id, keyId, usd('0.01')))
    // The clock jumps back now and then.
    machine.ask(settleTask(id, { input: 1 }, { now: NOW + 1_000 * (written % 100 === 99 ? written - 50 : written) }))
    written++
  }
  machine.ask(
    operateTask({
      kind: 'credit',
      creditKind: 'top-up',
      creditId: `crd_${written}`,
      accountId: 'acc_a',
      amountPicos: usd('1'),
      ref: '',
      now: NOW + written,
    }),
  )
}
write(1_500)
afterAll(() => machine.close())

const at = { accountId: 'acc_a', madeAt: NOW }
const whole = (range: object): string => [...statementLines(machine.db, 'acc_a', range, statementKeyOf(path), NOW)].join('')

test.each([[{}], [{ from: NOW + 200_000, to: NOW + 900_000 }], [{ from: NOW + 9_000_000_000 }], [{ to: NOW }]])(
  'its parts are the statement of the moment at which it was begun: %p',
  (range) => {
    const reads = new StatementReads(machine.db, { kind: 'sqlite', path })
    const expected = whole(range)
    let text = ''
    for (let part = 0; ; part++) {
      const found = reads.part({ kind: 'statement', ...at, ...range, ticket: 't', part })
      if (found === undefined) throw new Error(`no part ${part}`)
      text += found.text
      if (found.isLast) break
      expect(found.text.split('\n').length).toBeLessThanOrEqual(401)
      write(1)
    }
    expect(text).toBe(expected)
  },
)

test('a part that does not follow, of a ticket that is over or of no account, is none', () => {
  const reads = new StatementReads(machine.db, { kind: 'sqlite', path })
  const ask = (ticket: string, part: number, accountId = 'acc_a') => reads.part({ kind: 'statement', ...at, accountId, ticket, part })
  expect(ask('a', 0, 'acc_none')).toBeUndefined()
  expect(ask('a', 1)).toBeUndefined()
  expect(ask('a', 0)).toMatchObject({ isLast: false })
  expect(ask('a', 2)).toBeUndefined()
  expect(ask('a', 1)).toBeUndefined()
  for (let n = 0; n <= 16; n++) expect(ask(`many-${n}`, 0)).toMatchObject({ isLast: false })
  expect(ask('many-0', 1)).toBeUndefined()
  expect(ask('many-1', 1)).toBeDefined()
})

test('the download is the same bytes, on the thread that reads', async () => {
  const reads = new Reads({ place: { kind: 'sqlite', path }, startThread, onFault: ({ problem }) => expect(problem).toBe('') })
  afterAll(() => reads.close())
  const stream = await statementStream(reads, 'person:1', { kind: 'statement', ...at })
  if (!(stream instanceof ReadableStream)) throw new Error(`no stream: ${stream}`)
  expect(await new Response(stream).text()).toBe(whole({}))
  expect(await statementStream(reads, 'person:1', { kind: 'statement', ...at, accountId: 'acc_none' })).toBeUndefined()
})

test('a download that the ledger does not go on with breaks off', async () => {
  let asked = 0
  const ask = () => Promise.resolve(asked++ === 0 ? { text: 'a\n', isLast: false } : undefined)
  const stream = await statementStream({ ask: ask as never, close: () => Promise.resolve() }, 'person:1', { kind: 'statement', ...at })
  if (!(stream instanceof ReadableStream)) throw new Error('no stream')
  expect(new Response(stream).text()).rejects.toThrow('lost')
})
