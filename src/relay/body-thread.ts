/**
 * The thread for heavy bodies. This is a Worker's own file: the thread starts when the file is loaded. It does one task at a time. Where the reader needs a model or an
 * earlier answer, the thread asks the event loop and blocks until it is answered, so that one reader serves both. Rules: requests.md "Heavy bodies".
 */

import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { parseBody } from '../core/body.ts'
import { parseExact } from '../core/bytes/exact-json.ts'
import type { Call, Format, ReadContext } from '../core/format.ts'
import { type BodyNotes, notesOf, type PlacedBody } from '../core/native/body-notes.ts'
import { Refusal } from '../core/refusal.ts'
import { piecesOf } from '../core/transcoder.ts'
import { answerOf } from './answer-of.ts'
import {
  type BodyTask,
  type Done,
  type FromBodyThread,
  handedOver,
  type LookedUp,
  type Question,
  type QuestionChannel,
  refusalData,
  type ToBodyThread,
} from './body-task.ts'
import { sha256Hex } from './read-context.ts'
import { FORMATS, READERS } from './readers.ts'

type Ask = (question: Question) => LookedUp
/** `handed`: the buffers that move with the result. */
type Told = Readonly<{ done: Done; handed: readonly ArrayBuffer[] }>

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the body thread runs in a Worker only')
  const say = (message: FromBodyThread, handed: readonly ArrayBuffer[] = []): void => port.postMessage(message, [...handed])
  let line: QuestionChannel | undefined
  const ask: Ask = (question) => {
    if (line === undefined) throw new Error('no line leads to the loop')
    say(question)
    return nextAnswer(line)
  }
  port.on('message', (message: ToBodyThread) => {
    if (message.kind === 'line') {
      line = message
      return
    }
    try {
      const bytes = message.pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
      const { done, handed } = perform(message, ask)
      say(done, handed)
      if (bytes > COLLECTED_BYTES) collectSoon()
    } catch (bug) {
      say({ kind: 'bug', bug })
    }
  })
}

/** Reading megabytes leaves several times as much garbage, and the collector does not count all of it. */
const COLLECTED_BYTES = 4 * 1024 * 1024

/** Collects later, when nothing of the task is on the stack any more. */
const collectSoon = (): void => void setImmediate(() => Bun.gc(true))

function perform(task: BodyTask, ask: Ask): Told {
  switch (task.kind) {
    case 'read':
      return read(task, ask)
    case 'hash':
      return hash(task)
    case 'answer':
      return answer(task)
  }
}

function read({ reader, pieces, headers, planCapPicos, tagsUserIds }: Extract<BodyTask, { kind: 'read' }>, ask: Ask): Told {
  const body = parseBody(joined(pieces))
  let droppedPaths: readonly (readonly string[])[] = []
  const context: ReadContext = {
    headers: { get: (name) => headers.get(name) ?? null },
    find(modelId) {
      const found = ask({ kind: 'find', modelId })
      droppedPaths = found.droppedPaths ?? []
      return found.model
    },
    recall: (id) => {
      const { items = 'unknown' } = ask({ kind: 'recall', id })
      return typeof items === 'string' ? items : items.map((json) => parseExact(Buffer.from(json).toString()))
    },
    sha256Hex,
    planCapPicos,
    tagsUserIds,
  }
  const call = body instanceof Refusal ? body : READERS[reader](body, context)
  if (call instanceof Refusal) return { done: { kind: 'refusal', refusal: refusalData(call) }, handed: [] }
  const { model: _, body: native, chat, ...rest } = call
  const handed = handedOver(native)
  const told = chat?.map((one) => ({ ...one, body: handedOver(one.body) }))
  const notes = handed.length === 0 ? undefined : notesTold({ body: handed, modelAt: rest.routing.modelAt }, droppedPaths)
  const made = (notes?.cuts ?? []).flatMap((cuts) => cuts.made ?? [])
  const buffers = new Set([{ body: handed }, ...(told ?? []), ...made].map(({ body: { buffer } }) => buffer as ArrayBuffer))
  const routing = { ...rest.routing, ...(notes && { notes }) }
  return { done: { kind: 'call', call: { ...rest, routing, body: handed, ...(told && { chat: told }) } }, handed: [...buffers] }
}

function notesTold(body: PlacedBody, droppedPaths: readonly (readonly string[])[]): BodyNotes {
  const { cuts, thinking } = notesOf(body, droppedPaths)
  return { thinking, cuts: cuts.map(({ made, ...one }) => ({ ...one, ...(made && { made: { ...made, body: handedOver(made.body) } }) })) }
}

function hash({ pieces }: Extract<BodyTask, { kind: 'hash' }>): Told {
  const bytes = handedOver(joined(pieces))
  return { done: { kind: 'hash', hash: new Bun.CryptoHasher('sha256').update(bytes).digest(), bytes }, handed: [bytes.buffer] }
}

function answer({ format: name, pieces, call, stamp, chat, addedPrefix }: Extract<BodyTask, { kind: 'answer' }>): Told {
  const format = FORMATS[name] as Format<unknown>
  // The sender left out the parts of the call that an answer does not need.
  const answered = call as Call<unknown>
  const made = answerOf(joined(pieces), { format, call: answered, stamp, chat, addedPrefix })
  if (!('message' in made)) return { done: { kind: 'unusable', ...made }, handed: [] }
  const { message } = made
  const bytes = handedOver(made.bytes)
  const finished = format.finished?.(message, answered, stamp)
  const items = finished?.items.map(({ json, ...item }) => ({ ...item, json: piecesOf(json).map(handedOver) }))
  const kept = finished && { ...finished, items: items ?? [] }
  const handed = new Set([bytes, ...(items ?? []).flatMap(({ json }) => json)].map(({ buffer }) => buffer))
  return { done: { kind: 'answer', bytes, observation: message.observation, finished: kept }, handed: [...handed] }
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array => {
  const [only, ...more] = pieces
  return only !== undefined && more.length === 0 ? only : Buffer.concat(pieces)
}

/** The loop puts its answer at the port before it sets `isAnswered`. */
function nextAnswer({ port, isAnswered }: QuestionChannel): LookedUp {
  Atomics.wait(isAnswered, 0, 0)
  Atomics.store(isAnswered, 0, 0)
  return receiveMessageOnPort(port as unknown as Parameters<typeof receiveMessageOnPort>[0])?.message
}

run()
