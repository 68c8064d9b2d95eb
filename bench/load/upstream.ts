/**
 * The upstream of every load, a process of its own on a bare socket: reads the plan out of a request and answers it. Streams are paced by a wheel of
 * milliseconds, so that a thousand of them do not write in the same instant. Says its port by IPC. Run with a port, 0 for any.
 */

import type { Socket, TCPSocketListener } from 'bun'
import { nowUs } from '../clock.ts'
import { deltas, type Plan, readPlan, STREAM_BEGIN, STREAM_END, WHOLE_ANSWER } from './wire.ts'

/** The slots of the wheel, in milliseconds: the longest pause between two events is one less. */
const SLOTS = 1_024
/** How many chunks of a burst go in one write: the socket takes them together, so that the upstream is far faster than what it is asked through. */
const CHUNKS_A_WRITE = 32
/** How many writes of a burst come before other connections have their turn. */
const WRITES_A_TURN = 4
const HEAD_END = '\r\n\r\n'
const LONGEST_PLAN = 40

type Connection = {
  socket: Socket<Connection>
  /** The head so far; after a complete head, the last part of the body so far, in which the plan is looked for. */
  seen: string
  /** The bytes that are left of the body that is being read. */
  bytesLeft: number
  plan: Plan | undefined
  eventsLeft: number
  /** The text that the socket did not take. */
  unsent: string
}

const wheel: Connection[][] = Array.from({ length: SLOTS }, () => [])
const msNow = (): number => Math.floor(nowUs() / 1000)
let turned = msNow()

function turn(): void {
  const now = msNow()
  for (; turned < now; turned++) {
    const slot = turned % SLOTS
    const due = wheel[slot] ?? []
    if (due.length === 0) continue
    wheel[slot] = []
    for (const connection of due) step(connection, turned)
  }
}

/** Makes one write of a paced stream, unless its client reads too slowly: such a stream waits. */
function step(connection: Connection, at: number): void {
  const { plan } = connection
  if (plan === undefined) return
  if (connection.unsent === '') writeNext(connection, plan)
  if (connection.plan !== undefined) wheel[(at + plan.everyMs) % SLOTS]?.push(connection)
}

function burst(connection: Connection): void {
  for (let writes = 0; connection.plan !== undefined && connection.unsent === ''; writes++) {
    if (writes === WRITES_A_TURN) return void setImmediate(burst, connection)
    const chunks = Math.min(CHUNKS_A_WRITE, connection.eventsLeft / connection.plan.perWrite)
    writeNext(connection, connection.plan, chunks)
  }
}

function writeNext(connection: Connection, plan: Plan, chunks = 1): void {
  connection.eventsLeft -= plan.perWrite * chunks
  const isLast = connection.eventsLeft <= 0
  if (isLast) connection.plan = undefined
  const text = plan.everyMs === 0 ? burstOf(plan.perWrite, chunks) : deltas(plan.perWrite)
  write(connection, isLast ? text + STREAM_END : text)
}

/** The time in these events is not read, so they are made once. */
const bursts = new Map<string, string>()
function burstOf(perWrite: number, chunks: number): string {
  const name = `${perWrite} ${chunks}`
  const made = bursts.get(name) ?? Buffer.from(deltas(perWrite).repeat(chunks), 'latin1').toString('latin1')
  bursts.set(name, made)
  return made
}

function write(connection: Connection, text: string): void {
  const whole = connection.unsent === '' ? text : connection.unsent + text
  if (whole === '') return
  const taken = Math.max(0, connection.socket.write(whole))
  connection.unsent = taken === whole.length ? '' : whole.slice(taken)
}

function answer(connection: Connection, plan: Plan): void {
  if (plan.events === 0) {
    write(connection, WHOLE_ANSWER)
    return
  }
  connection.plan = plan
  connection.eventsLeft = plan.events
  write(connection, STREAM_BEGIN)
  if (plan.everyMs === 0) burst(connection)
  else step(connection, msNow())
}

function refuse(connection: Connection, why: string): void {
  write(connection, `HTTP/1.1 400 Bad Request\r\ncontent-length: ${why.length}\r\nconnection: close\r\n\r\n${why}`)
  connection.socket.end()
}

function read(connection: Connection, bytes: Buffer): void {
  let text = connection.seen + bytes.toString('latin1')
  let arrived = bytes.length
  if (connection.bytesLeft === 0) {
    const end = text.indexOf(HEAD_END)
    connection.seen = text
    if (end === -1) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
    if (length === undefined) {
      refuse(connection, 'a request without a content-length')
      return
    }
    connection.bytesLeft = Number(length)
    text = text.slice(end + HEAD_END.length)
    arrived = text.length
  }
  const planned = connection.plan ?? readPlan(text)
  connection.bytesLeft -= arrived
  connection.seen = planned === undefined ? text.slice(-LONGEST_PLAN) : ''
  connection.plan = planned
  if (connection.bytesLeft > 0) return
  connection.seen = ''
  connection.plan = undefined
  if (planned === undefined || connection.bytesLeft < 0) refuse(connection, 'not one request with a plan')
  else answer(connection, planned)
}

const server: TCPSocketListener<Connection> = Bun.listen<Connection>({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  socket: {
    open(socket) {
      socket.data = { socket, seen: '', bytesLeft: 0, plan: undefined, eventsLeft: 0, unsent: '' }
      socket.setNoDelay(true)
    },
    data: (socket, bytes) => read(socket.data, bytes),
    drain({ data }) {
      write(data, '')
      if (data.plan?.everyMs === 0) burst(data)
    },
    close({ data }) {
      data.plan = undefined
      data.unsent = ''
    },
    error(_, bug) {
      console.error(bug)
      process.exit(1)
    },
  },
})
setInterval(turn, 1)
process.on('disconnect', () => process.exit())
process.send?.({ port: server.port })
