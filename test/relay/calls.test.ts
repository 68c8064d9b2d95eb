/** What stays on record of a request's upstream calls. Rules: ledger.md "Attempts". */

import { expect, test } from 'bun:test'
import { Calls } from '../../src/relay/calls.ts'

const begun = (upstream: string) => ({ upstream, model: 'vendor-model', startedAt: 1_000 })

test('a call that was answered and then given up has its status, and the id that its upstream gave it', () => {
  const calls = new Calls()
  calls.began(begun('main'))
  expect(calls.unpaid('drain', 1_250)).toMatchObject([{ number: 1, status: null, cause: 'drain', durationMs: 250, usageSource: 'none' }])
  calls.replied('up_1')
  expect(calls.unpaid('drain', 1_250)).toMatchObject([{ number: 1, status: 200, upstream: { name: 'main', requestId: 'up_1' } }])
})

test('the call that answered is the receipt itself; those before it are beside it, and their ids stay their own', () => {
  const calls = new Calls()
  calls.began(begun('main'))
  calls.replied('up_1')
  calls.failed({ ...begun('main'), requestId: 'up_1', status: 200, cause: 'reset', durationMs: 5, wasSent: true })
  calls.began(begun('other'))
  calls.replied(undefined)
  calls.answered(() => undefined)
  expect(calls.count).toBe(2)
  expect(calls.upstream).toEqual({ name: 'other', model: 'vendor-model' })
  expect(calls.others()).toMatchObject([{ number: 1, upstream: { name: 'main', requestId: 'up_1' } }])
})

test('an upstream that refuses asks for no money, and one that nothing was sent to for none either', () => {
  const calls = new Calls()
  calls.began(begun('main'))
  calls.failed({ ...begun('main'), status: 529, cause: 'status 529', durationMs: 5, wasSent: true })
  calls.began(begun('main'))
  calls.failed({ ...begun('main'), status: null, cause: 'refused', durationMs: 5, wasSent: false })
  expect(calls.unpaid('fault', 2_000)).toEqual([])
})
