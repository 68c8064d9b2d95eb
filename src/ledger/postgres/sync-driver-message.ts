/** Messages between a connection to Postgres and the thread that holds its socket. Rules: ledger.md "Two stores". */

import type { MessagePort } from 'node:worker_threads'
import type { Settings } from '../../../db/postgres/connection-pool.ts'

export type ArrayType = 'BIGINT' | 'TEXT' | 'BYTEA'

/** A parameter on its way: an array goes with the type of its elements. */
export type DriverValue =
  | bigint
  | number
  | string
  | Uint8Array
  | null
  | Readonly<{ elements: readonly unknown[] | BigInt64Array; type: ArrayType }>

export type OpenDriver = Readonly<{
  /** The port that statements come by; the answer to each is there before `answered[0]` is 1. */
  port: MessagePort
  answered: Int32Array
  url: string
  /** What stands in pg_stat_activity. */
  name: string
  settings: Settings
  connectTimeoutMs: number
}>

export type ToDriver = Readonly<{
  /** Without parameters, each answered by a tag alone, before `text`. */
  first: readonly string[]
  /** Undefined: in one go and not prepared; `text` may be many statements then, whose rows are not told. */
  values: readonly DriverValue[] | undefined
  text: string
}>

/** Types by their number in pg_type. `changes`: rows that were written, or found. */
export type Rows = Readonly<{ names: readonly string[]; types: readonly number[]; rows: readonly (readonly unknown[])[]; changes: number }>

/** `isLost`: the connection is gone, with the transaction that it had. `wasAsked`: there was one, so Postgres may have got the statement. */
export type DriverFault = Readonly<{
  sqlState: string
  message: string
  constraint: string | undefined
  isLost: boolean
  wasAsked: boolean
}>

export type FromDriver = Rows | Readonly<{ fault: DriverFault }>
