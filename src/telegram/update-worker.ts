/**
 * Answers updates: those of one chat one after the other, several chats at once and in turns, so that none waits for another's pile. An answer that could not be sent is
 * made again, the act behind it being done once; a chat that Telegram slows down waits alone. Rules: pages.md "Telegram".
 */

import { boundedMap } from '../core/bounded-map.ts'
import type { Log } from '../observe/log.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { Held } from './update-store.ts'

/** done: with the question that the bot has asked by it, null without one · again: after `afterMs`. */
export type Answered = Readonly<{ done: true; question: string | null }> | Readonly<{ done: false; afterMs: number | undefined }>

export type UpdateWorkerParts = Readonly<{
  answer: (held: Held) => Promise<Answered>
  /** Writes down that an update is answered. */
  finish: (held: Held, question: string | null) => Promise<void>
  /** Whether this process may answer now. */
  isMine: () => boolean
  onEnd: (result: 'answered' | 'given up') => void
  now: () => number
  log: Pick<Log, 'alarm'>
}>

const AT_ONCE_MAX = 8
/**
 * An answer has its slot for so long at least: some 25 answers begin in a second, less than the 30 messages that Telegram takes
 * (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this), and each is a commit beside those that paid requests wait for.
 */
const SLOT_MS = 300
/** An answer that cannot be given for so long is not given. */
const GIVE_UP_MS = 10 * 60_000
/** An update that fails by a bug is tried so often. */
const BUGS_MAX = 3
const DONE_MAX = 2_000
const CLOSE_MS = 2_000
const PAUSE_MS = { first: 1_000, max: 60_000 }

type Waiting = { readonly held: Held; tries: number }
/** `isBusy`: its first update is being answered, or waits for its next try. */
type Line = { readonly updates: Waiting[]; isBusy: boolean }

export class UpdateWorker {
  readonly #parts: UpdateWorkerParts
  /** By chat, in the order of their turns. */
  readonly #lines = new Map<number, Line>()
  readonly #known = new Set<number>()
  /** The newest that were answered: a list of those that wait may have been read before. */
  readonly #done = boundedMap<true>(DONE_MAX)
  readonly #underWay = new Set<Promise<void>>()
  #atOnce = 0
  #isClosed = false

  constructor(parts: UpdateWorkerParts) {
    this.#parts = parts
  }

  get waiting(): number {
    return this.#known.size
  }

  /** Takes updates in the order of their numbers; those that it has already are not taken again. */
  add(held: readonly Held[]): void {
    for (const one of held) {
      if (this.#known.has(one.number) || this.#done.has(String(one.number))) continue
      this.#known.add(one.number)
      const { chat } = one.incoming
      const line = this.#lines.get(chat) ?? { updates: [], isBusy: false }
      line.updates.push({ held: one, tries: 0 })
      this.#lines.set(chat, line)
    }
    this.#next()
  }

  /** Begins no more answers, and waits a little for those under way: the next process would give them again. */
  async close(): Promise<void> {
    this.#isClosed = true
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, CLOSE_MS)
    await Promise.race([promise, Promise.all(this.#underWay)])
    clearTimeout(timer)
  }

  #next(): void {
    for (const [chat, line] of this.#lines) {
      if (this.#isClosed || this.#atOnce >= AT_ONCE_MAX) return
      const [first] = line.updates
      if (first === undefined || line.isBusy) continue
      line.isBusy = true
      this.#atOnce++
      // Its next turn comes after all others have had theirs.
      this.#lines.delete(chat)
      this.#lines.set(chat, line)
      const answering = this.#answer(chat, line, first)
        .catch((bug: unknown) => this.#failed(bug))
        .finally(() => this.#underWay.delete(answering))
      this.#underWay.add(answering)
      this.#leaveSlot(answering).catch((bug: unknown) => this.#failed(bug))
    }
  }

  async #leaveSlot(answering: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    setTimeout(resolve, SLOT_MS).unref()
    await Promise.all([answering, promise])
    this.#atOnce--
    this.#next()
  }

  async #answer(chat: number, line: Line, first: Waiting): Promise<void> {
    const pauseMs = await this.#try(first)
    if (pauseMs === undefined) {
      line.updates.shift()
      this.#known.delete(first.held.number)
      line.isBusy = false
      if (line.updates.length === 0) this.#lines.delete(chat)
    } else
      setTimeout(() => {
        line.isBusy = false
        this.#next()
      }, pauseMs).unref()
    this.#next()
  }

  /** Undefined: the update is done with here. Otherwise how long it waits for its next try. */
  async #try(waiting: Waiting): Promise<number | undefined> {
    const { answer, isMine, now } = this.#parts
    // Of one that is left here the process that has the claim finds the row.
    if (this.#isClosed || !isMine()) return undefined
    const { held } = waiting
    const tries = ++waiting.tries
    try {
      const answered = await answer(held)
      if (!answered.done && now() - held.takenAt <= GIVE_UP_MS) return answered.afterMs ?? grown(tries)
      await this.#end(held, answered.done ? answered.question : null, answered.done ? 'answered' : 'given up')
      return undefined
    } catch (error) {
      if (error instanceof PeopleAway) return grown(tries)
      this.#failed(error)
      if (tries < BUGS_MAX) return grown(tries)
      await this.#end(held, null, 'given up').catch((bug: unknown) => this.#failed(bug))
      return undefined
    }
  }

  async #end(held: Held, question: string | null, result: 'answered' | 'given up'): Promise<void> {
    await this.#parts.finish(held, question)
    this.#done.set(String(held.number), true)
    this.#parts.onEnd(result)
  }

  #failed(bug: unknown): void {
    if (!this.#isClosed)
      this.#parts.log.alarm('an answer of the bot failed by a bug', { bug: bug instanceof Error ? bug.name : typeof bug })
  }
}

const grown = (tries: number): number => Math.min(PAUSE_MS.max, PAUSE_MS.first * 2 ** Math.max(0, tries - 1))
