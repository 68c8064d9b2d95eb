/**
 * The questions that the people's code asks its store: one text of SQL serves both stores, the file of SQLite and Postgres. Names that are not in lower case are
 * quoted. Amounts and times in rows are numbers, flags are 0 or 1. Rules: pages.md "People".
 */

export type Value = string | number | null | Uint8Array
/** Values by their names, which the text writes as `$name`; names that the text does not use are allowed. */
export type Given = Readonly<Record<string, Value>>
/** `changes`: how many rows were written. */
export type SqlResult = Readonly<{ rows: readonly unknown[]; changes: number }>

export type Dialect = 'sqlite' | 'postgres'

export type PeopleSql = Readonly<{
  dialect: Dialect
  ask(text: string, given?: Given): Promise<SqlResult>
  all<Row>(text: string, given?: Given): Promise<readonly Row[]>
  /** The first row. */
  get<Row>(text: string, given?: Given): Promise<Row | undefined>
  /** How many rows were written. */
  run(text: string, given?: Given): Promise<number>
  /**
   * Runs `work` as one commit, or as none where it throws. Another call that names one of the same subjects waits until the end; on SQLite every call does. `work` asks
   * only the `sql` that it gets: a question to the store itself would wait for the end, too. Within a transaction the call is part of that transaction.
   */
  transaction<Result>(subjects: readonly Subject[], work: (sql: PeopleSql) => Promise<Result>): Promise<Result>
}>

/** The store does not answer at this moment: nothing is wrong with the question, which may be asked again. */
export class PeopleAway extends Error {
  override readonly name = 'PeopleAway'
}

/** The e-mails, people and accounts that a transaction reads before it writes. */
export type Subject = `email ${string}` | `person ${string}` | `account ${string}` | 'deliveries' | 'telegram'

/** A question that went to a connection. `giveUp`: true says that it was not begun, and never will be. */
export type Asked = Readonly<{ answer: Promise<SqlResult>; giveUp(): boolean }>

/**
 * The connection of a store that has only one, which answers in the order in which it is asked. `isInside`: the question is part of the open transaction, and is refused
 * with PeopleAway where there is none.
 */
export type OneConnection = Readonly<{
  ask(text: string, given: Given, isInside: boolean): Asked
  /** After this no transaction is open. */
  rollBack(): Promise<void>
  close(): Promise<void>
}>

export type PeopleStore = PeopleSql & Readonly<{ close(): Promise<void> }>

/** Makes the other methods from `ask`. */
export const sqlOver = (dialect: Dialect, ask: PeopleSql['ask'], transaction: PeopleSql['transaction']): PeopleSql => ({
  dialect,
  ask,
  transaction,
  all: async <Row>(text: string, given?: Given) => (await ask(text, given)).rows as readonly Row[],
  get: async <Row>(text: string, given?: Given) => (await ask(text, given)).rows[0] as Row | undefined,
  run: async (text, given) => (await ask(text, given)).changes,
})
