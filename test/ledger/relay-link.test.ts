/**
 * Protects processes.md "Death", "Shared": what a relay asks or tells while it joins again is answered, or told once it is welcome, and never lost without a word. The socket is
 * the test's own, so every message comes when the test says.
 */

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Patience } from '../../src/ledger/admission/patience.ts'
import { RelayLink } from '../../src/ledger/relays/link.ts'
import type { FromHub, ToHub } from '../../src/ledger/relays/messages.ts'
import { relayAt } from '../../src/ledger/relays/open.ts'
import { ClaimsOverLink, LimitsOverLink } from '../../src/ledger/relays/relay-shares.ts'
import { pass, settleTurn, VirtualTime } from '../sim/virtual-time.ts'
import { makeFolder, sha256 } from '../support/ledger.ts'

type Connect = NonNullable<ConstructorParameters<typeof RelayLink>[0]['connect']>
type Connection = Readonly<{ sent: ToHub[]; hear: (message: FromHub) => void; end: () => void }>

const LIMIT = { keyId: 'key_1', requests: 1, places: 1, perMinute: 60, atOnce: 10 }
const REPEATABLE = { keyId: 'key_1', headerHash: new Uint8Array(32).fill(1), bodyHash: new Uint8Array(32).fill(2) }
const RUNNING = { keyId: 'key_1', header: '01'.repeat(32), body: '02'.repeat(32) }
const WELCOME = { kind: 'welcome', boot: 7, ledgerId: 'led_1', spill: { frames: 0, replayed: [] } } as const
const WORDS = ['word', 'question', 'ping']

/** A relay whose connections are the test's; `join` resolves once a hello is sent. `early`: how many connections end before the link has them. */
function makeRelay(early = 0) {
  const patience = new Patience({ onBug: () => undefined })
  const around = { link: () => link, patience, onBug: () => undefined }
  const [limits, claims] = [new LimitsOverLink(around), new ClaimsOverLink(around)]
  const waiting: ((connection: Connection) => void)[] = []
  let connections = 0
  const connect: Connect = (_, { hear, onClosed }) => {
    const sent: ToHub[] = []
    const connection = { sent, hear, end: onClosed }
    const isEarly = connections++ < early
    if (isEarly) onClosed()
    return Promise.resolve({
      send(message: ToHub) {
        sent.push(structuredClone(message))
        if (message.kind === 'hello' && !isEarly) waiting.shift()?.(connection)
      },
      close: onClosed,
    })
  }
  const link: RelayLink = new RelayLink({
    ...{ path: '', bootId: 'boot', runs: () => ({ accounts: [], keys: [] }), connect },
    onFollowed: (followed) => claims.hear(followed),
    held: () => ({ claims: claims.running, places: limits.places, running: [] }),
    ...{ onNews: () => undefined, onMissed: () => undefined, onFenced: () => undefined, onFault: () => undefined },
    onHeard: () => patience.hear(),
    onWelcome: () => 'in',
  })
  const listener = {
    ...{ onCommitted: () => undefined, onLost: () => undefined, onWalCheckpointDue: () => undefined },
    ...{ onClosed: () => undefined, onEnd: () => void ends.count++ },
  }
  let opened: unknown
  /** How often a connection ended on which the relay was welcome, and what became of the last try. */
  const ends = { count: 0, listener, opened: () => opened }
  const next = (): Promise<Connection> => new Promise((resolve) => waiting.push(resolve))
  const join = async (): Promise<Connection> => {
    const hello = next()
    link.enter(listener).opened.then(
      (said) => {
        opened = said
      },
      () => undefined,
    )
    return await hello
  }
  const welcome = async (): Promise<Connection> => {
    const connection = await join()
    connection.hear(WELCOME)
    connection.hear({ kind: 'ready' })
    return connection
  }
  return { link, limits, claims, join, welcome, next, ends }
}

const heldIn = ({ sent: [hello] }: Connection): unknown => (hello?.kind === 'hello' ? hello.held : undefined)
const wordsIn = ({ sent }: Connection): readonly unknown[] => sent.flatMap((message) => (message.kind === 'word' ? [message.word] : []))
const answerLast = ({ sent, hear }: Connection, reply: Extract<FromHub, { kind: 'reply' }>['reply']): void => {
  const asked = sent.findLast(({ kind }) => kind === 'question')
  if (asked?.kind !== 'question') throw new Error('nothing was asked')
  hear({ kind: 'reply', number: asked.number, reply })
}

test('a limit that is asked for while a relay joins again is answered, and none is asked before all relays are there', async () => {
  const { link, limits, welcome, join } = makeRelay()
  try {
    const first = await welcome()
    first.end()
    const second = await join()
    // Before it is welcome the ledger process would take nothing but the hello.
    expect(await limits.take(LIMIT)).toBe('unavailable')
    second.hear(WELCOME)
    expect(await limits.take(LIMIT)).toBe('unavailable')
    expect(second.sent.filter(({ kind }) => kind === 'question')).toEqual([])
    second.hear({ kind: 'ready' })
    const asked = limits.take(LIMIT)
    answerLast(second, { requests: 1, places: 1, waitMs: 0, nodes: 2 })
    expect(await asked).toMatchObject({ requests: 1 })
  } finally {
    link.close()
  }
})

test('what is told while the ledger process is away, or before the welcome, is told after it, and a claim runs until then', async () => {
  const { link, claims, welcome, join } = makeRelay()
  try {
    const first = await welcome()
    const claiming = claims.claim(REPEATABLE)
    answerLast(first, { kind: 'claimed' })
    expect(await claiming).toEqual({ kind: 'claimed' })
    first.end()
    const answer = { key: new Uint8Array(), accountId: 'a', id: 'one', items: [], expiresAt: 1, text: '', parts: [] }
    link.tell({ kind: 'keep', answer, isUnwritten: false })
    claims.release(REPEATABLE)
    const second = await join()
    expect(heldIn(second)).toEqual({ claims: [RUNNING], places: [], running: [] })
    expect(second.sent.filter(({ kind }) => WORDS.includes(kind))).toEqual([])
    second.hear(WELCOME)
    expect(wordsIn(second)).toEqual([
      { kind: 'keep', answer, isUnwritten: false },
      { kind: 'release', keyId: RUNNING.keyId, header: RUNNING.header },
    ])
    expect(claims.running).toEqual([])
  } finally {
    link.close()
  }
})

test('answers that end while the ledger process is away are kept for other relays as far as there is room', async () => {
  const { link, join } = makeRelay()
  try {
    const large = (id: string) => ({ key: new Uint8Array(), accountId: 'a', id, items: [], expiresAt: 1, text: '', parts: PARTS })
    for (const id of ['one', 'two', 'three']) link.tell({ kind: 'keep', answer: large(id), isUnwritten: false })
    const first = await join()
    first.hear(WELCOME)
    expect(wordsIn(first)).toMatchObject([{ answer: { id: 'one' } }, { answer: { id: 'two' } }])
  } finally {
    link.close()
  }
})

const PARTS = [{ pieces: [new Uint8Array(7 * 1024 * 1024)] }]

test('a connection that ends before the relay has it is tried again', async () => {
  const { link, limits, welcome } = makeRelay(1)
  try {
    const second = await welcome()
    const asked = limits.take(LIMIT)
    answerLast(second, { requests: 1, places: 1, waitMs: 0, nodes: 1 })
    expect(await asked).toMatchObject({ requests: 1 })
    expect(second.sent.map(({ kind }) => kind)).toEqual(['hello', 'ping', 'question'])
  } finally {
    link.close()
  }
})

test('a ledger process that says nothing for five seconds is left, and what ends from then on may be kept, until it lets the relay in again', async () => {
  const time = new VirtualTime()
  const { link, welcome, next, ends } = makeRelay()
  try {
    const first = await welcome()
    const isAnswered = (): number => first.sent.filter(({ kind }) => kind === 'ping').length
    await pass(time, 4_900)
    first.hear({ kind: 'pong', number: 1 })
    expect([link.isAway, ends.count, isAnswered()]).toEqual([false, 0, 20])
    const hello = next()
    await pass(time, 300)
    expect([link.isAway, ends.count]).toEqual([false, 0])
    await pass(time, 300)
    expect([link.isAway, ends.count]).toEqual([true, 1])
    link.enter(ends.listener)
    const second = await hello
    // The kernel has accepted the connection; the ledger process has not.
    await pass(time, 60_000)
    expect([link.isAway, second.sent.map(({ kind }) => kind)]).toEqual([true, ['hello']])
    second.hear(WELCOME)
    // What was not answered on the connection before counts no more.
    await pass(time, 4_500)
    expect([link.isAway, ends.count]).toEqual([false, 1])
    second.hear({ kind: 'fenced', reason: 'it was not heard of for too long' })
    second.end()
    // Others may have what it holds: it keeps nothing more.
    expect(link.isAway).toBe(false)
  } finally {
    link.close()
    time.restore()
  }
})

test('a relay that itself stood still for five seconds, or slept with its machine, admits nothing until the ledger process answers it again', async () => {
  const time = new VirtualTime()
  const { link, welcome } = makeRelay()
  try {
    const first = await welcome()
    const answerPing = (): void => {
      const ping = first.sent.findLast(({ kind }) => kind === 'ping')
      if (ping?.kind === 'ping') first.hear({ kind: 'pong', number: ping.number })
    }
    // No timer runs: neither was a ping sent, nor was one missed. The time counts from when it was asked.
    time.advance(1_000)
    answerPing()
    time.advance(3_999)
    expect(link.mayAdmit()).toBe(true)
    time.advance(1)
    expect([link.mayAdmit(), link.isAway]).toEqual([false, false])
    await pass(time, 1)
    answerPing()
    expect(link.mayAdmit()).toBe(true)
    // Of the sleep of a machine only the clock on the wall tells.
    time.stepClock(5_000)
    expect(link.mayAdmit()).toBe(false)
    await pass(time, 250)
    answerPing()
    expect(link.mayAdmit()).toBe(true)
  } finally {
    link.close()
    time.restore()
  }
})

test('a relay that is about to close gives up a ledger process that accepts its connection and says nothing', async () => {
  const time = new VirtualTime()
  const { link, join, ends } = makeRelay()
  try {
    await join()
    link.stop()
    await pass(time, 4_900)
    expect(ends.opened()).toBeUndefined()
    await pass(time, 400)
    expect(ends.opened()).toMatchObject({ problem: 'unwritable' })
  } finally {
    link.close()
    time.restore()
  }
})

test('a claim that is granted after its request was told that none can be had ends at once', async () => {
  const time = new VirtualTime()
  const { link, claims, welcome } = makeRelay()
  try {
    const first = await welcome()
    const claiming = claims.claim(REPEATABLE)
    await pass(time, 1_000)
    expect(await claiming).toEqual({ kind: 'unavailable' })
    expect(wordsIn(first)).toEqual([])
    answerLast(first, { kind: 'claimed' })
    await settleTurn()
    expect(wordsIn(first)).toEqual([{ kind: 'release', keyId: RUNNING.keyId, header: RUNNING.header }])
    expect(claims.running).toEqual([])
  } finally {
    link.close()
    time.restore()
  }
})

test('a read is asked again on each next connection, and given up when a hundred connections have ended with it', async () => {
  const time = new VirtualTime()
  let asked = 0
  const connect: Connect = (_, { hear, onClosed }) =>
    Promise.resolve({
      send(message: ToHub) {
        if (message.kind === 'hello') setImmediate(() => hear(WELCOME))
        if (message.kind !== 'tasks' || message.tasks.every(({ task }) => task.kind !== 'findKey')) return
        asked++
        setImmediate(onClosed)
      },
      close: onClosed,
    })
  const { ledger, link, spill } = relayAt({
    ...{ create: false, bootId: 'boot', now: time.now, startThread: () => new Worker(''), onFault: () => undefined },
    relay: { path: join(makeFolder(), 'ledger.db'), socket: '', onFenced: () => undefined, connect },
  })
  try {
    const started = ledger.start()
    await settleTurn()
    await pass(time, 100)
    expect(await started).toHaveProperty('recovered')
    let found: unknown
    ledger.findKey(sha256('key_1')).then(
      (said) => {
        found = said
      },
      (bug: unknown) => {
        found = bug
      },
    )
    for (let turns = 0; turns < 2_000 && asked < 99; turns++) {
      time.runNext()
      await settleTurn()
    }
    expect([found, asked]).toEqual([undefined, 99])
    await pass(time, 1_000)
    expect([found, asked]).toEqual(['unavailable', 100])
  } finally {
    link.close()
    spill.close()
    time.restore()
  }
})
