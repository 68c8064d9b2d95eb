/** Protects processes.md "Death": a relay that keeps calling is not silent, whatever keeps the ledger process from taking it, and others wait for it only so long. */

import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { ThreadListener } from '../../src/ledger/admission/thread-handle.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import type { Connection } from '../../src/ledger/relays/hub-socket.ts'
import { PROTOCOL } from '../../src/ledger/relays/messages.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import type { Opened, ToThread } from '../../src/ledger/thread-messages.ts'
import { pass, VirtualTime } from '../sim/virtual-time.ts'
import { KEEPS_NOTHING } from '../support/relays.ts'

type Hearing = Parameters<NonNullable<ConstructorParameters<typeof RelayHub>[0]['listen']>>[1]

const OPENED: Opened = { recovered: 0, wasLeftOpen: false, replayed: [] }
const [PID, OTHER] = [100, 101]

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time.restore())

/** A hub that expects a process, and a thread that answers a relay as `takes` says of its boot, and those of which it says nothing not at all. */
function openHub() {
  const told: string[] = []
  const cutOff: number[] = []
  const posted: ToThread[] = []
  const open: PromiseWithResolvers<Opened>[] = []
  const given: { hearing?: Hearing; thread?: ThreadListener } = {}
  const takes = new Map<string, boolean>()
  const hub = new RelayHub({
    ...{ path: '', state: new SharedState(KEEPS_NOTHING), now: Date.now, isSound: () => true, onFault: () => undefined },
    expected: [PID],
    listen: (_, hearing) => {
      given.hearing = hearing
      return { close: () => undefined }
    },
    beginningOf: () => 'then',
    onCutOff: (pid) => void cutOff.push(pid),
  })
  const answer = (bootId: string): void => {
    const isTaken = takes.get(bootId)
    if (isTaken === undefined) return
    const joined = isTaken ? { boot: bootId.length, ledgerId: 'led', spill: { frames: 0, replayed: [] } } : {}
    given.thread?.onRelay?.({ kind: 'relayJoined', bootId, ...joined })
  }
  const beginThread = (): void => {
    const opened = Promise.withResolvers<Opened>()
    open.push(opened)
    hub.through((thread) => {
      given.thread = thread
      const post = (message: ToThread): void => {
        posted.push(message)
        if (message.kind === 'relayJoins') queueMicrotask(() => answer(message.bootId))
      }
      return { opened: opened.promise, post, terminate: () => undefined }
    })({ onEnd: () => undefined, onCommitted: () => undefined } as unknown as ThreadListener)
  }
  beginThread()
  /** Returns what it says as long as it lives. */
  const calls = (bootId: string, pid: number, isNew = false): (() => void) => {
    const close = (): void => {
      told.push('closed')
      given.hearing?.onClosed(connection)
    }
    const connection: Connection = { pid, unsentBytes: 0, send: ({ kind }) => void told.push(kind), close }
    given.hearing?.hear(connection, {
      ...{ kind: 'hello', protocol: PROTOCOL, bootId, isNew, runs: { accounts: [], keys: [] } },
      held: { claims: [], places: [], running: [] },
    })
    return () => given.hearing?.hear(connection, { kind: 'ping', number: 1 })
  }
  return {
    ...{ hub, told, cutOff, takes, calls, beginThread, answer },
    opens: async (): Promise<void> => {
      open.at(-1)?.resolve(OPENED)
      await pass(time, 0)
    },
    endThread: () => given.thread?.onEnd(),
    setWritable: (isWritable: boolean) =>
      given.thread?.onCommitted({
        kind: 'committed',
        settled: new Float64Array(),
        answers: [],
        changes: [],
        faults: [],
        isWritable,
        spillBytes: 0,
      }),
    /** Calls every half second for so long. */
    async calling(ms: number, ...all: readonly (() => void)[]): Promise<void> {
      for (let atMs = 0; atMs < ms; atMs += 500) {
        for (const call of all) call()
        await pass(time, 500)
      }
    },
    known: () => posted.filter(({ kind }) => kind === 'relaysKnown').length,
  }
}

test('a relay of the ledger process before this one that calls while the ledger opens is waited for, however long that takes', async () => {
  const { hub, told, cutOff, takes, calls, opens, calling, known } = openHub()
  takes.set('r1', true)
  await calling(60_000, () => void calls('r1', PID))
  expect(cutOff).toEqual([])
  await opens()
  expect(known()).toBe(0)
  calls('r1', PID)
  await pass(time, 100)
  expect([told.includes('fenced'), told.includes('welcome'), known(), cutOff]).toEqual([false, true, 1, []])
  hub.close()
})

test('one that calls while the storage cannot take it is waited for, and nothing is granted meanwhile; once it is silent it is cut off, once', async () => {
  const { hub, told, cutOff, takes, calls, opens, calling, known } = openHub()
  await opens()
  takes.set('r1', false)
  await calling(60_000, () => void calls('r1', PID))
  expect([cutOff, known()]).toEqual([[], 0])
  await pass(time, 9_400)
  expect(cutOff).toEqual([])
  await pass(time, 2_000)
  expect([cutOff, known()]).toEqual([[PID], 1])
  calls('r1', PID)
  expect(told.at(-1)).toBe('fenced')
  hub.close()
})

test('one that calls after the thread has ended is waited for until the next thread is there', async () => {
  const { hub, told, cutOff, takes, calls, opens, calling, endThread, beginThread } = openHub()
  await opens()
  takes.set('r1', true)
  calls('r1', PID)
  await pass(time, 100)
  endThread()
  beginThread()
  await calling(60_000, () => void calls('r1', PID))
  expect(cutOff).toEqual([])
  await opens()
  told.length = 0
  calls('r1', PID)
  await pass(time, 100)
  expect([told.includes('welcome'), cutOff]).toEqual([true, []])
  hub.close()
})

test('one whose call the thread has not answered yet waits for this process, and has its ten seconds from the answer on', async () => {
  const { hub, told, cutOff, takes, calls, opens, answer } = openHub()
  await opens()
  calls('r1', PID)
  await pass(time, 25_000)
  expect(cutOff).toEqual([])
  takes.set('r1', true)
  answer('r1')
  expect(told.includes('welcome')).toBe(true)
  await pass(time, 9_900)
  expect(cutOff).toEqual([])
  await pass(time, 200)
  expect(cutOff).toEqual([PID])
  hub.close()
})

test('one that the thread does not take although it takes others holds them up for half a minute at most, while anything can be written', async () => {
  const { hub, told, cutOff, takes, calls, opens, calling, known, setWritable } = openHub()
  await opens()
  takes.set('r1', false)
  takes.set('other', true)
  const one = (): void => void calls('r1', PID)
  const other = calls('other', OTHER, true)
  await pass(time, 100)
  await calling(20_000, one, other)
  setWritable(false)
  await calling(60_000, one, other)
  setWritable(true)
  await calling(29_000, one, other)
  expect([cutOff, known()]).toEqual([[], 0])
  await calling(2_000, one, other)
  expect([cutOff, known()]).toEqual([[PID], 1])
  told.length = 0
  calls('r1', PID)
  expect(told).toEqual(['fenced'])
  hub.close()
})
