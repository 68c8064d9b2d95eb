/** Messages between a connection to Postgres and the thread that holds its socket. Rules: ledger.md "Two stores". */

import type { MessagePort } from 'node:worker_threads'
import type { Settings } from '../../../db/postgres/connection-pool.ts'

export type ArrayType = 'BIGINT' | 'TEXT' | 'BYTEA'

/** A parameter as it is sent to the driver; an array has the type of its elements beside it. */
export type DriverValue =
  | bigint
  | number
  | string
  | Uint8Array
  | null
  | Readonly<{ elements: readonly unknown[] | BigInt64Array; type: ArrayType }>

export type OpenDriver = Readonly<{
  /** The port by which statements arrive. The answer to a statement is posted before `answered[0]` becomes 1. */
  port: MessagePort
  answered: Int32Array
  url: string
  /** The name of the connection in pg_stat_activity. */
  name: string
  settings: Settings
  connectTimeoutMs: number
}>

export type ToDriver = Readonly<{
  /** Statements that are run before `text`; they have no parameters and return no rows. */
  first: readonly string[]
  /** Undefined: `text` is not prepared and may be several statements, whose rows are not returned. */
  values: readonly DriverValue[] | undefined
  text: string
}>

/** `types`: numbers in pg_type. `changes`: how many rows were written, or found. */
export type Rows = Readonly<{ names: readonly string[]; types: readonly number[]; rows: readonly (readonly unknown[])[]; changes: number }>

/** `isLost`: the connection is gone, and its transaction with it. `wasAsked`: there was a connection, so Postgres may have got the statement. */
export type DriverFault = Readonly<{
  sqlState: string
  message: string
  constraint: string | undefined
  isLost: boolean
  wasAsked: boolean
}>

export type FromDriver = Rows | Readonly<{ fault: DriverFault }>
