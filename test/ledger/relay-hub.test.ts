/** Protects processes.md "Relays", "Death", "Shared": who is heard, and that what a relay had is free when it is gone, also where it dies while it joins again, or its thread is no more. */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { ThreadListener } from '../../src/ledger/admission/thread-handle.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import { type Connection, listenForRelays } from '../../src/ledger/relays/hub-socket.ts'
import { connectToHub } from '../../src/ledger/relays/link-socket.ts'
import { type Hello, PROTOCOL } from '../../src/ledger/relays/messages.ts'
import type { Peer } from '../../src/ledger/relays/peer.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import type { ToThread } from '../../src/ledger/thread-messages.ts'
import { pass, VirtualTime } from '../sim/virtual-time.ts'
import { makeFolder } from '../support/ledger.ts'
import { KEEPS_NOTHING } from '../support/relays.ts'
import { until } from '../support/until.ts'

type Hearing = Parameters<NonNullable<ConstructorParameters<typeof RelayHub>[0]['listen']>>[1]

const CLAIM = { keyId: 'key_1', header: 'aa', body: 'bb' }
const HELLO: Hello = {
  ...{ kind: 'hello', protocol: PROTOCOL, bootId: 'relay-1', isNew: true, runs: { accounts: [], keys: [] } },
  held: { claims: [], places: [], running: [] },
}
const BOOT = 7
const NEVER_SILENT = { silenceMs: Number.POSITIVE_INFINITY }
const PID = 100

/**
 * A hub with one relay that runs a request under an Idempotency-Key, and a thread whose messages are only noted. `silenceMs`: undefined for what is so without a word; `expected`: processes
 * that were relays before it.
 */
async function openHub({ silenceMs, expected = [] }: { silenceMs?: number | undefined; expected?: readonly number[] } = NEVER_SILENT) {
  const state = new SharedState(KEEPS_NOTHING)
  const posted: ToThread[] = []
  const faults: string[] = []
  /** What the relay was told, and `closed` where its connection was ended. */
  const told: string[] = []
  const heard: { hearing?: Hearing; thread?: ThreadListener } = {}
  let isAlive = true
  const hub = new RelayHub({
    ...{ path: '', state, now: Date.now, isSound: () => true, onFault: ({ problem }) => void faults.push(problem) },
    listen: (_, hearing) => {
      heard.hearing = hearing
      return { close: () => undefined }
    },
    beginningOf: () => (isAlive ? 'then' : undefined),
    expected,
    ...(silenceMs === undefined ? {} : { silenceMs }),
  })
  const beginThread = async (): Promise<void> => {
    hub.through((thread) => {
      heard.thread = thread
      const opened = Promise.resolve({ recovered: 0, wasLeftOpen: false, replayed: [] })
      return { opened, post: (message) => void posted.push(message), terminate: () => undefined }
    })({ onEnd: () => undefined } as ThreadListener)
    await Promise.resolve()
  }
  await beginThread()
  let ping: () => void = () => undefined
  let unsentBytes = 0
  /** The relay connects and says what it has; the thread has not answered yet. */
  const connect = (hello: Hello, pid = PID) => {
    const send: Connection['send'] = ({ kind }) => void told.push(kind)
    const connection: Connection = {
      ...{ pid, send, close: () => void told.push('closed') },
      get unsentBytes() {
        return unsentBytes
      },
    }
    heard.hearing?.hear(connection, hello)
    ping = () => heard.hearing?.hear(connection, { kind: 'ping', number: 1 })
    return () => heard.hearing?.onClosed(connection)
  }
  const close = connect(HELLO)
  const join = (): void =>
    heard.thread?.onRelay?.({ kind: 'relayJoined', bootId: 'relay-1', boot: BOOT, ledgerId: 'led', spill: { frames: 0, replayed: [] } })
  join()
  expect(await state.ask(BOOT, { kind: 'claim', claim: CLAIM })).toEqual({ kind: 'claimed' })
  const isRunning = (): boolean => state.ask(BOOT + 1, { kind: 'running', keyId: CLAIM.keyId, header: CLAIM.header }) === true
  expect(isRunning()).toBe(true)
  const die = (): void => {
    isAlive = false
  }
  const hasGone = (): boolean => posted.some((message) => message.kind === 'relayGoes' && message.boot === BOOT)
  /** The thread has written all that the relay has ended. */
  const tellGone = (): void => heard.thread?.onRelay?.({ kind: 'relayGone', boot: BOOT })
  /** How often a thread was told that all relays are known. */
  const known = (): number => posted.filter(({ kind }) => kind === 'relaysKnown').length
  return {
    hub,
    faults,
    told,
    ping: () => ping(),
    leaveUnread: (bytes: number) => {
      unsentBytes = bytes
    },
    connect,
    close,
    die,
    isRunning,
    hasGone,
    tellGone,
    known,
    join,
    beginThread,
    endThread: () => heard.thread?.onEnd(),
  }
}

test('a relay that dies while it joins again leaves no claim once the thread has its ends, and the thread frees its leases', async () => {
  const { hub, connect, close, die, isRunning, hasGone, tellGone } = await openHub()
  try {
    close()
    const closeAgain = connect({ ...HELLO, isNew: false, held: { ...HELLO.held, claims: [CLAIM] } })
    die()
    closeAgain()
    await until(hasGone, 'the thread frees its leases')
    expect(isRunning()).toBe(true)
    tellGone()
    expect(isRunning()).toBe(false)
  } finally {
    hub.close()
  }
})

test('a relay that dies after the thread has ended leaves no claim once another thread has what it kept', async () => {
  const { hub, close, die, isRunning, hasGone, tellGone, beginThread, endThread } = await openHub()
  try {
    endThread()
    die()
    close()
    await hub.whenEmpty()
    await beginThread()
    expect([hasGone(), isRunning()]).toEqual([true, true])
    tellGone()
    expect(isRunning()).toBe(false)
  } finally {
    hub.close()
  }
})

test('a thread that begins anew is told that all relays are known, so that it may grant, once they have joined again, and not before', async () => {
  const { hub, connect, known, join, beginThread, endThread } = await openHub()
  try {
    await until(() => known() === 1, 'the first thread is told')
    endThread()
    await beginThread()
    let looks = 0
    await until(() => looks++ > 20, 'relays were looked after')
    expect(known()).toBe(1)
    connect({ ...HELLO, isNew: false })
    join()
    await until(() => known() === 2, 'the next thread is told')
  } finally {
    hub.close()
  }
})

test('a relay that died before its hello was read is gone as soon as its connection is, and nothing waits until it counts as silent', async () => {
  const { hub, connect, close, die, hasGone, isRunning, tellGone } = await openHub()
  try {
    close()
    die()
    connect({ ...HELLO, isNew: false, held: { ...HELLO.held, claims: [CLAIM] } })()
    await until(hasGone, 'the thread frees its leases')
    tellGone()
    expect(isRunning()).toBe(false)
    await hub.whenEmpty()
  } finally {
    hub.close()
  }
})

test('a relay that says nothing for too long is named as cut off, once, also one that a new ledger process waits for; one that is gone is not', async () => {
  const time = new VirtualTime()
  const state = new SharedState(KEEPS_NOTHING)
  const cutOff: number[] = []
  const alive = new Set([PID, PID + 1])
  const given: { hearing?: Hearing; thread?: ThreadListener } = {}
  const hub = new RelayHub({
    ...{ path: '', state, now: Date.now, isSound: () => true, onFault: () => undefined },
    expected: [PID + 1, PID + 2],
    listen: (_, hearing) => {
      given.hearing = hearing
      return { close: () => undefined }
    },
    beginningOf: (pid) => (alive.has(pid) ? 'then' : undefined),
    onCutOff: (pid) => void cutOff.push(pid),
  })
  try {
    hub.through((thread) => {
      given.thread = thread
      const opened = Promise.resolve({ recovered: 0, wasLeftOpen: false, replayed: [] })
      return { opened, post: () => undefined, terminate: () => undefined }
    })({ onEnd: () => undefined } as ThreadListener)
    await Promise.resolve()
    given.hearing?.hear({ pid: PID, unsentBytes: 0, send: () => undefined, close: () => undefined }, HELLO)
    given.thread?.onRelay?.({ kind: 'relayJoined', bootId: HELLO.bootId, boot: BOOT, ledgerId: 'led', spill: { frames: 0, replayed: [] } })
    await pass(time, 9_900)
    expect(cutOff).toEqual([])
    await pass(time, 200)
    expect(cutOff.toSorted((a, b) => a - b)).toEqual([PID, PID + 1])
  } finally {
    hub.close()
    time.restore()
  }
})

test('a relay that says nothing for ten seconds is cut off, and what it had is free; one that says so little as a ping is not', async () => {
  const time = new VirtualTime()
  const { hub, faults, told, ping, connect, hasGone } = await openHub({})
  try {
    await pass(time, 9_900)
    ping()
    await pass(time, 9_900)
    expect([hasGone(), faults, told.includes('closed')]).toEqual([false, [], false])
    await pass(time, 200)
    expect([hasGone(), told.at(-1)]).toEqual([true, 'closed'])
    expect(faults).toEqual([`a relay (process ${PID}) is not heard of: it is cut off, and what it held is free`])
    connect({ ...HELLO, isNew: false })
    expect(told.at(-1)).toBe('fenced')
  } finally {
    hub.close()
    time.restore()
  }
})

test('a relay that calls and leaves more than 256 MiB unread is cut off, and it is said that it does not read; one that leaves just as much is not', async () => {
  const time = new VirtualTime()
  const { hub, faults, told, ping, leaveUnread, hasGone } = await openHub({})
  try {
    leaveUnread(256 * 1024 * 1024)
    await pass(time, 1_000)
    ping()
    expect([hasGone(), faults, told.includes('closed')]).toEqual([false, [], false])
    leaveUnread(256 * 1024 * 1024 + 1)
    await pass(time, 100)
    expect([hasGone(), told.at(-1)]).toEqual([true, 'closed'])
    expect(faults).toEqual([`a relay (process ${PID}) does not read what it is told: it is cut off, and what it held is free`])
  } finally {
    hub.close()
    time.restore()
  }
})

test('a relay of the ledger process before this one is waited for ten seconds: until then nothing is granted, and from then on it is fenced', async () => {
  const time = new VirtualTime()
  const { hub, told, ping, connect, known } = await openHub({ expected: [PID + 1] })
  try {
    await pass(time, 9_900)
    ping()
    expect(known()).toBe(0)
    await pass(time, 200)
    expect(known()).toBe(1)
    connect({ ...HELLO, bootId: 'relay-0', isNew: false }, PID + 1)
    expect(told.at(-1)).toBe('fenced')
  } finally {
    hub.close()
    time.restore()
  }
})

/** What is heard at a socket of someone whom the kernel names so, until that connection is answered or ended. */
async function heardOf(caller: Peer | undefined): Promise<readonly unknown[]> {
  const path = join(makeFolder(), 'relays')
  const heard: unknown[] = []
  const over = Promise.withResolvers<void>()
  const answer = { kind: 'fenced', reason: 'it was heard' } as const
  const hearing: Hearing = {
    hear(connection, message) {
      heard.push([connection.pid, message.kind])
      connection.send(answer)
    },
    ...{ onClosed: () => undefined, onFault: ({ problem }) => void heard.push(problem) },
  }
  const hub = listenForRelays(path, hearing, () => caller)
  const socket = await connectToHub(path, {
    ...{ hear: () => over.resolve(), onClosed: () => over.resolve(), onFault: ({ problem }) => void heard.push(problem) },
  })
  try {
    socket?.send(HELLO)
    await over.promise
    return heard
  } finally {
    socket?.close()
    hub.close()
  }
}

test('only a process of the same user is heard at the socket of relays; any other, and one of which the kernel says nothing, is cut off', async () => {
  const uid = process.getuid?.() ?? 0
  expect(await heardOf({ pid: PID, uid })).toEqual([[PID, 'hello']])
  expect(await heardOf({ pid: PID, uid: uid + 1 })).toEqual([])
  expect(await heardOf(undefined)).toEqual([])
})
