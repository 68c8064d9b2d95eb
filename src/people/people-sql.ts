/**
 * What the people's code asks of its store: one text of SQL for both, the file of SQLite and Postgres. Names are quoted where they are not in lower case, amounts
 * of rows and times are numbers, flags 0 or 1. Rules: pages.md "People".
 */

export type Value = string | number | null | Uint8Array
/** Values by their names, which stand in the text as `$name`; names that the text does not use are allowed. */
export type Given = Readonly<Record<string, Value>>
/** `changes`: rows that were written. */
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
   * Runs `work` as one commit, or none where it throws. Another call that names one of the same subjects waits for its end; on SQLite every call does. `work` asks what it is given
   * and nothing else: another question would wait for the end, too. Within a transaction it is that one.
   */
  transaction<Result>(subjects: readonly Subject[], work: (sql: PeopleSql) => Promise<Result>): Promise<Result>
}>

/** The store does not answer at this moment: nothing is wrong with the question, which may be asked again. */
export class PeopleAway extends Error {
  override readonly name = 'PeopleAway'
}

/** The e-mails, people and accounts that a transaction reads before it writes. */
export type Subject = `email ${string}` | `person ${string}` | `account ${string}` | 'deliveries'

export type PeopleStore = PeopleSql & Readonly<{ close(): Promise<void> }>

/** The other methods, made from `ask`. */
export const sqlOver = (dialect: Dialect, ask: PeopleSql['ask'], transaction: PeopleSql['transaction']): PeopleSql => ({
  dialect,
  ask,
  transaction,
  all: async <Row>(text: string, given?: Given) => (await ask(text, given)).rows as readonly Row[],
  get: async <Row>(text: string, given?: Given) => (await ask(text, given)).rows[0] as Row | undefined,
  run: async (text, given) => (await ask(text, given)).changes,
})
