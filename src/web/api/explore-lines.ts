/**
 * The questions of Explore in line: a person's are answered one after another, and of an operator or an account one file is made at a time, beside which the page answers on.
 * Rules: pages.md "Explore".
 */

import { OneByOne } from '../../ledger/reading/one-by-one.ts'
import type { Caller } from './caller.ts'
import { refuseForeign } from './download.ts'
import { refuseUnread } from './unread.ts'

/** The rows of each are in memory until it is taken. */
const FILES_AT_ONCE = 100

export const clientOf = ({ person }: Caller): string => `person:${person.id}`

/** What a file is made of, and for which client. `whose`: of it one file is made at a time. */
type Wanted<T extends object> = Readonly<{
  request: Request
  caller: Caller
  whose: string
  find: () => Promise<T | Response>
  /** `onEnd` is to be called once, when what was found is needed no more. */
  fileOf: (found: T, onEnd: () => void) => Response
}>

export class ExploreLines {
  readonly #questions = new OneByOne()
  readonly #files = new OneByOne(FILES_AT_ONCE)

  run<T>(caller: Caller, work: () => Promise<T | Response>): Promise<T | Response> {
    return this.#questions.run<T | Response>(clientOf(caller), work, () => refuseUnread('tooMany'))
  }

  async file<T extends object>({ request, caller, whose, find, fileOf }: Wanted<T>): Promise<Response> {
    const foreign = refuseForeign(request)
    if (foreign !== undefined) return foreign
    const end = await this.#files.begin(whose)
    if (end === undefined) return refuseUnread('tooMany')
    const found = await this.run(caller, find).catch((bug: unknown) => {
      end()
      throw bug
    })
    if (!(found instanceof Response)) return fileOf(found, end)
    end()
    return found
  }
}
