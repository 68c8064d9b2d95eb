/**
 * The thread that reads large bodies: a Worker's own file, it begins when it is loaded. One body at a time; where the reader needs the world, the thread asks
 * the loop and stands still until it is answered, so that the reader is the same as the loop's. Rules: requests.md "Large bodies".
 */

import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import { parseBody } from '../core/body.ts'
import { parseExact } from '../core/bytes/exact-json.ts'
import type { ReadContext } from '../core/format.ts'
import { Refusal } from '../core/refusal.ts'
import { type FromBodyThread, handedOver, type Line, type LookedUp, refusalData, type ToBodyThread } from './body-task.ts'
import { sha256Hex } from './read-context.ts'
import { READERS } from './readers.ts'

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the body thread runs in a Worker only')
  const say = (message: FromBodyThread, handed: readonly ArrayBuffer[] = []): void => port.postMessage(message, [...handed])
  let line: Line | undefined
  const ask = (question: FromBodyThread): LookedUp => {
    if (line === undefined) throw new Error('nobody answers the body thread')
    say(question)
    return nextAnswer(line)
  }
  port.on('message', (message: ToBodyThread) => {
    if (message.kind === 'line') {
      line = message
      return
    }
    try {
      const call = read(message, ask)
      if (call instanceof Refusal) return say({ kind: 'refusal', refusal: refusalData(call) })
      const { model: _, body, ...rest } = call
      const handed = handedOver(body)
      say({ kind: 'call', call: { ...rest, body: handed } }, [handed.buffer])
    } catch (bug) {
      say({ kind: 'bug', bug })
    }
  })
}

function read({ reader, bytes, headers }: Extract<ToBodyThread, { kind: 'read' }>, ask: (question: FromBodyThread) => LookedUp) {
  const body = parseBody(bytes)
  if (body instanceof Refusal) return body
  const context: ReadContext = {
    headers: { get: (name) => headers.get(name) ?? null },
    find: (modelId) => ask({ kind: 'find', modelId }).model,
    recall: (id) => ask({ kind: 'recall', id }).items?.map((json) => parseExact(Buffer.from(json).toString())),
    sha256Hex,
  }
  return READERS[reader](body, context)
}

/** An answer is at the port before it is told of. */
function nextAnswer({ port, isAnswered }: Line): LookedUp {
  Atomics.wait(isAnswered, 0, 0)
  Atomics.store(isAnswered, 0, 0)
  return receiveMessageOnPort(port as unknown as Parameters<typeof receiveMessageOnPort>[0])?.message
}

run()
