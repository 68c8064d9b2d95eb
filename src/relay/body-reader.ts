/**
 * Reads and hashes heavy bodies on threads, since streams cannot wait for them. Bodies below a megabyte have a thread for themselves, so that they never wait
 * for the second that the largest take. Rules: requests.md "Heavy bodies", "Repeated requests".
 */

import type { Model } from '../core/catalog.ts'
import type { Call, ReadContext } from '../core/format.ts'
import { READ_HEADERS } from '../core/native/versions.ts'
import { Refusal } from '../core/refusal.ts'
import { BodyQueue, type BodyQueueOptions } from './body-queue.ts'
import { type BodyTask, type HeavyAnswer, type LookedUp, type Question, type Recalled, refusalOf, type Unusable } from './body-task.ts'
import { type Pieces, UNREADABLE } from './read-body.ts'
import type { ReaderName } from './readers.ts'

/** The account whose turn a task takes, and the signal of its client: a client that leaves while its task waits loses its place. */
export type Turn = Readonly<{ accountId: string; signal: AbortSignal }>

export type HeavyBody = Turn &
  Readonly<{
    reader: ReaderName
    /** Moves to the thread. */
    pieces: readonly Uint8Array[]
    headers: ReadContext['headers']
    find: ReadContext['find']
    /** What each kind of a model's upstreams cuts out of a native body, as paths. */
    droppedPaths: (model: Model) => readonly (readonly string[])[]
    planCapPicos: ReadContext['planCapPicos']
    tagsUserIds: ReadContext['tagsUserIds']
    /** The items under an id, each as JSON. */
    recall: (id: string) => Recalled | Promise<Recalled>
  }>

/** Resolves with `left` where the client left before its turn. */
export type HeavyRead = Call<unknown> | Refusal | 'left'
type HeavyHash = Readonly<{ hash: Uint8Array; bytes: Uint8Array }> | Refusal | 'left'

export type HeavyMessage = Omit<Extract<BodyTask, { kind: 'answer' }>, 'kind'>

const NEVER = new AbortController().signal

/** A header with an empty value is not the same as an absent one. */
const pairOf = (name: string, value: string | null): [string, string][] => (value === null ? [] : [[name, value]])

const recalled = (items: Recalled | Promise<Recalled>): LookedUp | Promise<LookedUp> =>
  items instanceof Promise ? items.then((brought) => ({ items: brought })) : { items }

/** Bodies above this size have a thread on which only they wait for one another. */
const SHORT_BYTES_MAX = 1024 * 1024

export class BodyReader {
  readonly #short: BodyQueue
  readonly #long: BodyQueue

  constructor(options: BodyQueueOptions) {
    this.#short = new BodyQueue(options)
    this.#long = new BodyQueue(options)
  }

  /** Rejects by bugs only. */
  async read({ reader, pieces, headers, find, droppedPaths, recall, accountId, signal, ...more }: HeavyBody): Promise<HeavyRead> {
    let model: Model | undefined
    const answer = (question: Question): LookedUp | Promise<LookedUp> => {
      if (question.kind === 'recall') return recalled(recall(question.id))
      model = find(question.modelId)
      return model === undefined ? {} : { model, droppedPaths: droppedPaths(model) }
    }
    const known = new Map(READ_HEADERS.flatMap((name) => pairOf(name, headers.get(name))))
    const { planCapPicos, tagsUserIds } = more
    const task = { kind: 'read', reader, pieces, headers: known, planCapPicos, tagsUserIds } as const
    const done = await this.#queueOf(pieces).run({ task, accountId, signal, answer })
    if (done === 'left' || done instanceof Refusal) return done
    if (done.kind === 'refusal') return refusalOf(done.refusal)
    if (done.kind !== 'call' || model === undefined) throw new Error('a body was read without a model')
    return { ...done.call, model }
  }

  /** Returns the SHA-256 of a body, with the body's bytes: the given pieces move to the thread. */
  async hash(pieces: readonly Uint8Array[], { accountId, signal }: Turn): Promise<HeavyHash> {
    const done = await this.#queueOf(pieces).run({ task: { kind: 'hash', pieces }, accountId, signal, answer: () => ({}) })
    if (done === 'left' || done instanceof Refusal) return done
    if (done.kind !== 'hash') throw new Error('a body was not hashed')
    return done
  }

  /** Makes what the client gets from a complete answer, whose bytes move to the thread. The task goes on when the client leaves. */
  async answer(answer: HeavyMessage, accountId: string): Promise<HeavyAnswer | Unusable | Refusal> {
    const task = { kind: 'answer', ...answer } as const
    const done = await this.#queueOf(answer.pieces).run({ task, accountId, signal: NEVER, answer: () => ({}) })
    if (done instanceof Refusal) return done
    if (done === 'left' || (done.kind !== 'answer' && done.kind !== 'unusable')) throw new Error('an answer was not read')
    return done
  }

  /** Refuses the waiting tasks. */
  close(): void {
    this.#short.close()
    this.#long.close()
  }

  #queueOf(pieces: readonly Uint8Array[]): BodyQueue {
    return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0) <= SHORT_BYTES_MAX ? this.#short : this.#long
  }
}

/** A body up to this size is hashed on the loop, which takes half a millisecond a MiB. */
const SMALL_BYTES_MAX = 256 * 1024

/** `pieces`: the body as the caller uses it from now on, since the given pieces may have moved to the thread. */
export type Hashed = Readonly<{ hash: Uint8Array; pieces: Pieces }>

/** The SHA-256 of a body: of a small one at once, of a larger one on a thread. */
export async function hashBody(
  bodyReader: BodyReader,
  { signal }: Pick<Request, 'signal'>,
  { accountId }: Pick<Turn, 'accountId'>,
  pieces: Pieces,
): Promise<Hashed | Refusal> {
  const [first = new Uint8Array(), ...more] = pieces
  if (more.length === 0 && first.byteLength <= SMALL_BYTES_MAX)
    return { hash: Bun.SHA256.hash(first, new Uint8Array(32)) as Uint8Array, pieces }
  const hashed = await bodyReader.hash(pieces, { accountId, signal })
  // The refusal is that of a client that left while it sent its body.
  if (hashed === 'left') return UNREADABLE
  return hashed instanceof Refusal ? hashed : { hash: hashed.hash, pieces: [hashed.bytes] }
}
