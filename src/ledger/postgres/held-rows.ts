/**
 * Finds accounts that another transaction keeps locked, such as a transaction that an operator left open. Locks are not waited for, so that settles of other accounts go on. Rules:
 * ledger.md "Settles on Postgres".
 */

import type { Connection } from '../sql/connection.ts'
import { anyOf, arrayText } from '../sql/sql-list.ts'
import type { Task } from '../task.ts'

type AccountRow = Readonly<{ number: bigint; id: string }>
type KeyRow = Readonly<{ number: bigint; id: string; account: bigint }>

/** The account numbers are collected first, because Postgres would read all rows for an OR of numbers and a subquery. */
const ACCOUNTS = `SELECT number, id FROM accounts WHERE number = ANY (ARRAY(SELECT number FROM accounts WHERE number = ${anyOf('?1', 'BIGINT')}
  UNION SELECT number FROM accounts WHERE id = ${anyOf('?2', 'TEXT')}
  UNION SELECT account_number FROM keys WHERE id = ${anyOf('?3', 'TEXT')}))`
const KEYS = `SELECT number, id, account_number AS account FROM keys WHERE number = ${anyOf('?1', 'BIGINT')} OR id = ${anyOf('?2', 'TEXT')}`
/** Other nodes lock a row for a millisecond or two, so rows that were locked are looked at again after these times; a row that is found free was not kept locked. */
const LOOK_AGAIN_MS = [5, 10, 20] as const
/** The lock that settles take. */
const FREE = 'FOR NO KEY UPDATE SKIP LOCKED'

export class HeldRows {
  readonly #accounts
  readonly #freeAccounts
  readonly #keys
  readonly #freeKeys
  /** Accounts that were held at the last look. */
  readonly #known = new Set<number>()

  constructor(db: Connection) {
    const accounts = (text: string) => db.query<AccountRow, [string, string, string]>(text)
    const keys = (text: string) => db.query<KeyRow, [string, string]>(text)
    this.#accounts = accounts(ACCOUNTS)
    this.#freeAccounts = accounts(`${ACCOUNTS} ${FREE}`)
    this.#keys = keys(KEYS)
    this.#freeKeys = keys(`${KEYS} ${FREE}`)
  }

  /** The tasks that cannot be done because the row of their account, or of a key of it, is locked; each with the account's number. */
  among(tasks: readonly Task[]): ReadonlyMap<Task, number> {
    const named = tasks.map((task) => ({ task, ...namesIn(task) }))
    const texts = <T extends string | number>(values: readonly (T | undefined)[]): string =>
      arrayText([...new Set(values.filter((value) => value !== undefined))])
    const keyIds = texts(named.map(({ keyId }) => keyId))
    const ofAccounts = [texts(named.map(({ account }) => account)), texts(named.map(({ accountId }) => accountId)), keyIds] as const
    const ofKeys = [texts(named.map(({ key }) => key)), keyIds] as const
    const accounts = this.#accounts.all(...ofAccounts)
    const keys = this.#keys.all(...ofKeys)
    const look = (): ReadonlySet<number> => {
      const freeAccounts = new Set(this.#freeAccounts.all(...ofAccounts).map(({ number }) => number))
      const freeKeys = new Set(this.#freeKeys.all(...ofKeys).map(({ number }) => number))
      return new Set([
        ...accounts.filter(({ number }) => !freeAccounts.has(number)).map(({ number }) => Number(number)),
        ...keys.filter(({ number }) => !freeKeys.has(number)).map(({ account }) => Number(account)),
      ])
    }
    const held = this.#keptAmong(look)
    for (const { number } of accounts) if (!held.has(Number(number))) this.#known.delete(Number(number))
    for (const number of held) this.#known.add(number)
    const numbers = new Map<string | undefined, number>()
    for (const { id, number } of accounts) numbers.set(id, Number(number))
    for (const { id, account } of keys) numbers.set(id, Number(account))
    const checkpointed = new Map(
      tasks.flatMap((task) => (task.kind === 'checkpoint' ? [[task.checkpoint.requestId, task.checkpoint.accountNumber] as const] : [])),
    )
    return new Map(
      named.flatMap(({ task, account, accountId, keyId }) => {
        // A checkpoint must be written before it is dropped, so a drop waits with the checkpoint of the same request.
        const number =
          task.kind === 'dropCheckpoint' ? checkpointed.get(task.requestId) : (account ?? numbers.get(keyId) ?? numbers.get(accountId))
        return number !== undefined && held.has(number) ? [[task, number] as const] : []
      }),
    )
  }

  /** The accounts that stay locked over several looks. Accounts that are known to be locked are not waited for. */
  #keptAmong(look: () => ReadonlySet<number>): ReadonlySet<number> {
    let held = look()
    for (const pauseMs of LOOK_AGAIN_MS) {
      if ([...held].every((number) => this.#known.has(number))) break
      Bun.sleepSync(pauseMs)
      const again = look()
      held = new Set([...held].filter((number) => again.has(number)))
    }
    return held
  }
}

type Names = Readonly<{ account?: number; key?: number; accountId?: string; keyId?: string }>

/** The accounts and keys whose rows the task locks. */
function namesIn(task: Task): Names {
  switch (task.kind) {
    case 'settle':
      return { account: task.debit.accountNumber, key: task.debit.keyNumber }
    case 'checkpoint':
      return { account: task.checkpoint.accountNumber, key: task.checkpoint.keyNumber }
    case 'attempts':
      return { account: task.calls.accountNumber, key: task.calls.keyNumber }
    case 'ask':
      return { account: task.ask.accountNumber, key: task.ask.keyNumber }
    case 'release':
      return { account: task.release.accountNumber, key: task.release.keyNumber }
    case 'operate': {
      const { operation } = task
      return {
        ...('accountId' in operation && operation.accountId !== null ? { accountId: operation.accountId } : {}),
        ...('keyId' in operation && operation.keyId !== null ? { keyId: operation.keyId } : {}),
      }
    }
    case 'dropCheckpoint':
    case 'findKey':
    case 'foreignHeads':
    case 'keyStates':
    case 'findIdempotency':
    case 'findToken':
      return {}
  }
}
