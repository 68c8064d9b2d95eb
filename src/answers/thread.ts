/**
 * The thread of kept answers: it encrypts, writes and finds them, so that no stream and no settle waits for a cipher or for this file's disk. This is a Worker's own
 * file: the thread starts when the file is loaded. Rules: requests.md "Kept answers".
 */

import { parentPort } from 'node:worker_threads'
import { isDamage, isOfTheDisk } from '../../db/damage.ts'
import { setAside } from '../../db/set-aside.ts'
import type { Forgotten } from '../core/format.ts'
import { AnswersFile } from './answers-file.ts'
import { nameOf, Sealer, type SealingKey, unseal } from './sealing.ts'
import type { FromAnswersThread, Keeping, ToAnswersThread } from './task.ts'

const PRUNE_MS = 60_000
const PRUNE_AGAIN_MS = 20
const SUFFIXES = ['-wal', '-shm', '']

type Say = (message: FromAnswersThread, handed?: readonly ArrayBuffer[]) => void
type Sealing = Readonly<{ keeping: Keeping; name: Uint8Array; sealer: Sealer }>

class AnswersWriter {
  readonly #path: string
  readonly #bytesMax: number
  readonly #say: Say
  #file: AnswersFile | undefined
  #sealing: Sealing | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(path: string, bytesMax: number, say: Say) {
    this.#path = path
    this.#bytesMax = bytesMax
    this.#say = say
    this.#prune()
  }

  begin(keeping: Keeping): void {
    const name = nameOf(keeping.key, keeping.id)
    this.#sealing = { keeping, name, sealer: new Sealer(keeping.key, name) }
  }

  add(bytes: Uint8Array, isLast: boolean): void {
    const sealing = this.#sealing
    if (sealing === undefined) return
    sealing.sealer.add(bytes)
    if (!isLast) return
    this.#sealing = undefined
    const { keeping, name, sealer } = sealing
    const { accountId, expiresAt, key } = keeping
    const items = keeping.items.map((id) => nameOf(key, id))
    const answer = { name, accountId, expiresAt, sealed: sealer.end(), items }
    this.#using((file) => file.keep(answer, Date.now()))
    this.#say({ kind: 'kept' })
  }

  /** The first of the answers that is found; otherwise why there is none, as far as is known. */
  find(key: SealingKey, ids: readonly string[]): Uint8Array | Forgotten {
    let why: Forgotten = 'unknown'
    for (const id of ids) {
      const found = this.#findOne(key, id)
      if (typeof found !== 'string') return found
      if (why === 'unknown') why = found
    }
    return why
  }

  #findOne(key: SealingKey, id: string): Uint8Array | Forgotten {
    const name = nameOf(key, id)
    const found = this.#using((file) => file.find(name, Date.now())) ?? 'unknown'
    if (typeof found === 'string') return found
    const opened = unseal(key, found.name, found.sealed)
    if (opened === undefined) this.#say({ kind: 'failed', problem: 'a row was changed, or is damaged' })
    return opened ?? 'unknown'
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#drop()
  }

  /** Undefined where the file cannot be used, which is reported. A damaged file is set aside, and `use` runs on a new one. */
  #using<T>(use: (file: AnswersFile) => T): T | undefined {
    try {
      return this.#attempt(use)
    } catch (error) {
      if (!isOfTheDisk(error)) throw error
      this.#say({ kind: 'failed', problem: error.message })
      return undefined
    }
  }

  #attempt<T>(use: (file: AnswersFile) => T): T {
    try {
      this.#file ??= new AnswersFile(this.#path, this.#bytesMax)
      return use(this.#file)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#drop()
      const files = setAside(this.#path, SUFFIXES, Date.now())
      this.#say({ kind: 'setAside', problem: error.message, files })
      this.#file = new AnswersFile(this.#path, this.#bytesMax)
      return use(this.#file)
    }
  }

  #drop(): void {
    const file = this.#file
    this.#file = undefined
    file?.close()
  }

  #prune(): void {
    const hasMore = this.#using((file) => file.prune(Date.now())) === true
    this.#timer = setTimeout(() => this.#prune(), hasMore ? PRUNE_AGAIN_MS : PRUNE_MS)
    this.#timer.unref()
  }
}

function run(): void {
  const port = parentPort
  if (port === null) throw new Error('the thread of kept answers runs in a Worker only')
  const say: Say = (message, handed = []) => port.postMessage(message, [...handed])
  let writer: AnswersWriter | undefined
  port.on('message', (message: ToAnswersThread) => {
    switch (message.kind) {
      case 'open':
        writer = new AnswersWriter(message.path, message.bytesMax, say)
        return
      case 'keep':
        return writer?.begin(message.keeping)
      case 'bytes':
        return writer?.add(message.bytes, message.isLast)
      case 'find': {
        const found = writer?.find(message.key, message.ids) ?? 'unknown'
        const { number } = message
        if (typeof found === 'string') return say({ kind: 'found', number, found })
        const own = new Uint8Array(found)
        return say({ kind: 'found', number, found: own }, [own.buffer])
      }
      case 'close':
        writer?.close()
        return say({ kind: 'closed' })
    }
  })
}

run()
