/**
 * What a route does: asks the ledger's reader, or performs an operation of the ledger with the token as its actor. They are the operations of the command line and the
 * console. Rules: operator-api.md "Writes"; operator.md "Audit".
 */

import { LINE_CHARS_MAX, lineOf } from '../../core/line.ts'
import type { Picos } from '../../core/money.ts'
import type { Act, Earlier, Operation, Repeated } from '../../ledger/operation.ts'
import type { QuestionKind, QuestionOf } from '../../ledger/reading/reports.ts'
import type { World } from '../../world.ts'
import type { ApiCaller } from './caller.ts'
import { busy, Failure, unread, wrong } from './failure.ts'

/** `repeats`: the first write under the same Idempotency-Key; nothing was done now. */
export type Performed = Readonly<{ earlier?: Earlier; redeemedPicos?: Picos; repeats?: Repeated }>

export type ApiActs = ReturnType<typeof apiActs>

/** How long an answer waits for its turn to read, where the write that it shows is done. */
const PAUSE_MS = 50
const PAUSES_MAX = 100

export function apiActs({ ledger, reports }: Pick<World, 'ledger' | 'reports'>) {
  const ask = async <K extends QuestionKind>({ client }: Pick<ApiCaller, 'client'>, question: QuestionOf<K>) => {
    const found = await reports.ask<K>(client, question)
    return found === 'tooMany' || found === 'overloaded' || found === 'unavailable' ? unread(found) : found
  }
  return {
    ask,
    /** Asks again while other questions fill the queue. */
    askAfterWrite: async <K extends QuestionKind>(caller: Pick<ApiCaller, 'client'>, question: QuestionOf<K>) => {
      for (let pauses = 0; ; pauses++) {
        const found = await ask<K>(caller, question)
        if (!(found instanceof Failure) || pauses === PAUSES_MAX) return found
        await Bun.sleep(PAUSE_MS)
      }
    },
    /** `refusedAs`: why it may not be done now; as the repetition of an earlier write, of which the ledger knows, it is answered all the same. */
    perform: async (
      caller: ApiCaller,
      operation: Operation,
      reason: string | undefined,
      refusedAs?: Failure,
    ): Promise<Performed | Failure> => {
      const act = actOf(caller, reason)
      if (act instanceof Failure) return act
      if (refusedAs === undefined) return performedOf(await ledger.operate(operation, act))
      const { tokenId, once } = caller.by
      if (once === null) return refusedAs
      return performedOf(await ledger.operate(operation, { ...act, by: { tokenId, once: { ...once, isBarred: true } } }), refusedAs)
    },
  }
}

/** The act as the audit log has it. */
export function actOf({ actor, address, by }: ApiCaller, reason = ''): Act | Failure {
  const line = reason.trim() === '' ? '' : lineOf(reason)
  return line === undefined ? wrong('reason', `At most ${LINE_CHARS_MAX} printable characters`) : { actor, address, reason: line, by }
}

type Result = Awaited<ReturnType<World['ledger']['operate']>>

function performedOf(result: Result, refusedAs?: Failure): Performed | Failure {
  switch (result.result) {
    case 'done':
      return result
    case 'refused':
      return result.what === undefined && refusedAs !== undefined ? refusedAs : failureOf(result)
    case 'unavailable':
      return busy('The ledger did not confirm it; repeat it under the same Idempotency-Key, or look whether it was done')
  }
}

export function failureOf({ problem, what }: Extract<Result, { result: 'refused' }>): Failure {
  if (what === 'token') return new Failure(401, 'Invalid API token')
  return what === undefined ? new Failure(400, problem) : wrong(what, problem)
}
