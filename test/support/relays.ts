/** A ledger process with relays for tests, all in one process: the file with its thread, the socket, and relays that come and go. */

import type { Socket } from 'bun'
import type { KeyChange, Ledger } from '../../src/ledger/ledger.ts'
import type { LedgerOptions, OpenedLedger } from '../../src/ledger/open-options.ts'
import { RelayHub } from '../../src/ledger/relays/hub.ts'
import { type Connection, listenForRelays } from '../../src/ledger/relays/hub-socket.ts'
import { openRelay } from '../../src/ledger/relays/open.ts'
import { beginningOf } from '../../src/ledger/relays/peer.ts'
import { SharedState } from '../../src/ledger/relays/shared-state.ts'
import { socketBeside } from '../../src/ledger/relays/socket-file.ts'
import type { KeptElsewhere } from '../../src/ledger/shared-answers.ts'
import { openLedger } from '../../src/ledger/sqlite/open.ts'
import { startThread } from './threads.ts'

export const KEEPS_NOTHING: KeptElsewhere = { keep: () => undefined, find: () => Promise.resolve('unknown') }

/** By boot. */
const pids = new Map<string, number>()

/**
 * Relays of a test are in its own process, and a ledger process that begins waits for each process that was a relay: were it one for all of them, it would let none in any more that
 * comes a moment after the first.
 */
function pidOf(bootId: string): number {
  const pid = pids.get(bootId) ?? -1 - pids.size
  pids.set(bootId, pid)
  return pid
}

const listenForTestRelays: typeof listenForRelays = (path, { hear, onClosed, onFault }) => {
  const owns = new WeakMap<Connection, Connection>()
  return listenForRelays(path, {
    hear(connection, message) {
      if (message.kind === 'hello' && connection.pid === process.pid) owns.set(connection, connectionOf(connection, pidOf(message.bootId)))
      hear(owns.get(connection) ?? connection, message)
    },
    onClosed: (connection) => onClosed(owns.get(connection) ?? connection),
    onFault,
  })
}

const connectionOf = (connection: Connection, pid: number): Connection => ({
  pid,
  get unsentBytes() {
    return connection.unsentBytes
  },
  send: (message) => connection.send(message),
  close: () => connection.close(),
})

/** `expected`: boots of relays of the ledger process before it. */
type ProcessOptions = Partial<LedgerOptions> & Readonly<{ expected?: readonly string[]; silenceMs?: number; kept?: KeptElsewhere }>

export type LedgerProcess = Readonly<{ ledger: Ledger; path: string; socket: string; faults: string[]; hub: RelayHub; recovered: number }>

export async function openLedgerProcess(
  path: string,
  { expected = [], silenceMs, kept = KEEPS_NOTHING, ...options }: ProcessOptions = {},
): Promise<LedgerProcess> {
  const faults: string[] = []
  const socket = socketBeside(path, 'relays')
  let hub: RelayHub | undefined
  const opened = await openLedger({
    ...{ create: true, bootId: Bun.randomUUIDv7(), startThread, now: Date.now, spillBytes: 1024 * 1024, path },
    onFault: ({ problem, bug }) => void faults.push(bug === undefined ? problem : `${problem}: ${String(bug)}`),
    relaysAt: () => {
      hub = new RelayHub({
        ...{ path: socket, state: new SharedState(kept), expected: expected.map(pidOf), now: Date.now, isSound: () => true },
        ...{ listen: listenForTestRelays, beginningOf: (pid) => (pid < 0 ? 'with the test' : beginningOf(pid)) },
        onFault: ({ problem, bug }) => void faults.push(bug === undefined ? problem : `${problem}: ${String(bug)}`),
        ...(silenceMs === undefined ? {} : { silenceMs }),
      })
      return hub
    },
    ...options,
  })
  if ('problem' in opened || hub === undefined) throw new Error('problem' in opened ? opened.message : 'no hub')
  return { ledger: opened.ledger, path, socket, faults, hub, recovered: opened.recovered }
}

export type TestRelay = Readonly<{
  bootId: string
  ledger: Ledger
  shared: NonNullable<OpenedLedger['shared']>
  faults: string[]
  changes: KeyChange[]
  fenced: string[]
}>

export async function openTestRelay(
  path: string,
  options: Partial<LedgerOptions> = {},
  socket = socketBeside(path, 'relays'),
): Promise<TestRelay> {
  const faults: string[] = []
  const fenced: string[] = []
  const changes: KeyChange[] = []
  const { bootId = Bun.randomUUIDv7() } = options
  const opened = await openRelay({
    ...{ create: false, startThread, now: Date.now },
    relay: { path, socket, onFenced: (reason) => void fenced.push(reason) },
    onFault: ({ problem, bug }) => void faults.push(bug === undefined ? problem : `${problem}: ${String(bug)}`),
    ...options,
    bootId,
  })
  if ('problem' in opened || opened.shared === undefined) throw new Error('problem' in opened ? opened.message : 'nothing is shared')
  opened.ledger.onKeyChange((change) => void changes.push(change))
  return { bootId, ledger: opened.ledger, shared: opened.shared, faults, changes, fenced }
}

type Pair = { other: Socket<Pair> | undefined; waiting: Uint8Array[] }

/** Stands at `path` between a relay and the socket at `to`, and cuts what goes over it. `count`: how many connections there are. */
export function cutter(to: string, path = `${to}.between`): Readonly<{ path: string; count(): number; cut(): void; close(): void }> {
  const open = new Set<Socket<Pair>>()
  const handlers = {
    data: (socket: Socket<Pair>, chunk: Uint8Array) => pass(socket, chunk),
    drain: (socket: Socket<Pair>) => flush(socket),
    close: (socket: Socket<Pair>) => {
      open.delete(socket)
      socket.data.other?.terminate()
    },
    error: (socket: Socket<Pair>) => socket.terminate(),
  }
  const server = Bun.listen<Pair>({
    unix: path,
    socket: {
      ...handlers,
      open(socket) {
        socket.data = { other: undefined, waiting: [] }
        open.add(socket)
        Bun.connect<Pair>({ unix: to, data: { other: socket, waiting: [] }, socket: handlers }).then(
          (other) => {
            socket.data.other = other
            for (const chunk of socket.data.waiting.splice(0)) pass(socket, chunk)
          },
          () => socket.terminate(),
        )
      },
    },
  })
  return {
    path,
    count: () => open.size,
    cut: () => {
      for (const socket of open) socket.terminate()
    },
    close: () => server.stop(true),
  }
}

/** What comes before the other side is there, or faster than it reads, waits. */
function pass({ data }: Socket<Pair>, chunk: Uint8Array): void {
  if (data.other === undefined) data.waiting.push(chunk.slice())
  else {
    data.other.data.waiting.push(chunk.slice())
    if (data.other.data.waiting.length === 1) flush(data.other)
  }
}

function flush(socket: Socket<Pair>): void {
  const { waiting } = socket.data
  for (let [first] = waiting; first !== undefined; [first] = waiting) {
    const written = Math.max(0, socket.write(first))
    if (written < first.byteLength) {
      waiting[0] = first.subarray(written)
      return
    }
    waiting.shift()
  }
}
