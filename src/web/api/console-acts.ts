/**
 * An operator's act on a page: the ledger's operation with the person as actor, done once however often the form is sent. Rules: pages.md "Acts of operators";
 * operator.md "Audit".
 */

import type { TUnsafe } from '@sinclair/typebox'
import { t } from 'elysia'
import { boundedMap } from '../../core/bounded-map.ts'
import { LINE_CHARS_MAX, lineOf } from '../../core/line.ts'
import { BALANCE_PICOS_MAX, type Picos, parseUsd, ZERO } from '../../core/money.ts'
import type { Earlier, Operation } from '../../ledger/operation.ts'
import type { Site } from '../site.ts'
import { refuse } from './answers.ts'
import type { Caller } from './caller.ts'
import { refuseUnread } from './unread.ts'

const FORM_MS = 3_600_000
const CLOCK_MS = 60_000
const KEPT_MS = 10 * 60_000
const KEPT_MAX = 500
const AMOUNT = 'An amount in USD, such as 25 or 0.50'

/** The id that the gateway gave a form: a form that is sent twice is one act. */
export const ACT_ID = t.String({ pattern: '^[0-9a-f]{32}$', description: 'Open the form again' })
export const REASON = t.Optional(t.String({ maxLength: 1_000, description: `A reason has at most ${LINE_CHARS_MAX} printable characters` }))
export const REF = t.Optional(t.String({ maxLength: 1_000, description: 'A reference has at most 200 printable characters' }))
export const USD = t.String({ maxLength: 40, description: AMOUNT })
export const AFTER = t.Optional(t.String({ maxLength: 200 }))
export const NO_STORE = { 'cache-control': 'no-store' } as const

/** One of these words. `t.UnionEnum` would make an absent value the first of them. */
export const oneOf = <const Word extends string>(words: readonly Word[], description: string) =>
  t.String({ pattern: `^(${words.join('|')})$`, description }) as unknown as TUnsafe<Word>

export type ConsoleActs = ReturnType<typeof consoleActs>

export function consoleActs({ world }: Pick<Site, 'world'>) {
  const { ledger, reports, clock } = world
  const kept = boundedMap<Readonly<{ answer: Promise<unknown>; at: number }>>(KEPT_MAX)
  return {
    /** Asks the ledger's reader in the name of this person. A `Response` says why the question cannot be answered. */
    ask: async <K extends Parameters<typeof reports.ask>[1]['kind']>(
      { person }: Caller,
      question: Extract<Parameters<typeof reports.ask>[1], { kind: K }>,
    ) => {
      const found = await reports.ask<K>(`person:${person.id}`, question as never)
      return found === 'tooMany' || found === 'overloaded' || found === 'unavailable' ? refuseUnread(found) : found
    },
    /** Performs the act. `earlier`: the same act was done before; undefined: the act was done now. */
    perform: async (operation: Operation, { actor, address }: Caller, reason = ''): Promise<Response | Readonly<{ earlier?: Earlier }>> => {
      const wrong = wrongReason(reason)
      if (wrong !== undefined) return wrong
      const done = await ledger.operate(operation, { actor, address, reason: reason.trim() })
      switch (done.result) {
        case 'done':
          return done.earlier === undefined ? {} : { earlier: done.earlier }
        case 'refused':
          return refused(done.problem)
        case 'unavailable':
          return refuse(503, 'The ledger did not confirm it. Look whether it was done before you repeat it')
      }
    },
    /** Refuses a form that was opened long ago: its id has the time at which it was opened, and lists are ordered by id. */
    oldForm: (id: string): Response | undefined => {
      const madeAt = Number.parseInt(id.slice(0, 12), 16)
      const now = clock.now()
      return madeAt < now - FORM_MS || madeAt > now + CLOCK_MS ? refuse(409, 'This form is too old. Open it again') : undefined
    },
    /** Does an act that makes no row with the form's id: for ten minutes the same form gets the same answer, and nothing is done again. A refusal is not kept. */
    once: async <T>({ person }: Caller, what: string, id: string, act: () => Promise<T>): Promise<T> => {
      const name = `${person.id} ${what} ${id}`
      const earlier = kept.get(name)
      const isKept = earlier !== undefined && clock.now() - earlier.at < KEPT_MS
      const answer = isKept ? (earlier.answer as Promise<T>) : act()
      if (!isKept) kept.set(name, { answer, at: clock.now() })
      try {
        const value = await answer
        if (!(value instanceof Response)) return value
        kept.delete(name)
        return value.clone() as T
      } catch (bug) {
        kept.delete(name)
        throw bug
      }
    },
  }
}

/** What is wrong with a reason, which may be absent. */
export const wrongReason = (reason = ''): Response | undefined =>
  reason.trim() === '' || lineOf(reason) !== undefined
    ? undefined
    : refuse(400, `A reason has at most ${LINE_CHARS_MAX} printable characters`, { field: 'reason' })

/** Refuses a missing reason, for acts that need one. */
export const needReason = (reason: string | undefined): Response | undefined =>
  (reason ?? '').trim() === '' ? refuse(400, 'Say why, for the audit log and the account', { field: 'reason' }) : undefined

/** The reference as it is booked; '' where there is none. */
export function refOf(text: string | undefined): string | Response {
  if (text === undefined || text.trim() === '') return ''
  return lineOf(text) ?? refuse(400, `A reference has at most ${LINE_CHARS_MAX} printable characters`, { field: 'ref' })
}

/** Reads an amount as it was typed: more than 0; for a correction, anything but 0. */
export function amountOf(text: string, field: string, isCorrection = false): Picos | Response {
  const amount = parseUsd(text.trim())
  if (amount === undefined) return refuse(400, AMOUNT, { field })
  if (amount === ZERO || (amount < ZERO && !isCorrection))
    return refuse(400, isCorrection ? 'Not $0' : 'More than $0; a correction may take from the balance', { field })
  return amount > BALANCE_PICOS_MAX || amount < -BALANCE_PICOS_MAX
    ? refuse(400, 'This is more than an account may have', { field })
    : amount
}

/** A refusal in the ledger's words, with the name of the input that they are about. */
function refused(problem: string): Response {
  const field = /^the reference|^a reference/.test(problem)
    ? 'ref'
    : /^an? (account|key) named/.test(problem)
      ? 'name'
      : /^the balance is|^an account's credits/.test(problem)
        ? 'amount_usd'
        : undefined
  return refuse(409, `${problem.charAt(0).toUpperCase()}${problem.slice(1)}`, field === undefined ? {} : { field })
}
