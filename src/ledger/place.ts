/** Where a ledger is: a file of this machine, or Postgres. Rules: ledger.md "Two stores". */

import type { NodeIdentity } from './nodes.ts'

/** A ledger's file that is locked for writing: device and inode, and a handle of it that stays open, in whichever thread. */
export type LockedFile = Readonly<{ id: string; handle: number }>

type SqlitePlace = Readonly<{ kind: 'sqlite'; path: string }>

/** `path`: the folder that it is in keeps the node's own files, such as the spill. */
export type PostgresPlace = Readonly<{
  kind: 'postgres'
  path: string
  /** With user and password. */
  url: string
  /** This node's name among those that write. */
  node: string
  /** How long a node that is not heard of keeps its lane, its leases and its requests in flight. */
  leaseMs: number
  /** To Postgres, at most; absent: the least. */
  connections?: number
  /** Ed25519, PEM; undefined: no statement can be signed. */
  statementKey: string | undefined
}>

export type Place = SqlitePlace | PostgresPlace

/** The paths for `spillPathOf`: this process's own, and those that dead processes left. */
export type SpillsAt = Readonly<{ own: string; left: readonly string[] }>

/**
 * `file`: the one that is locked, whatever the path leads to; `named`: the path as it is configured, which may be a link. `identity`: the node's right to write; undefined while it has none. `spills`: locked by the process, so
 * that a thread after one that died finds what that had kept.
 */
export type WritablePlace =
  | (SqlitePlace & Readonly<{ file: LockedFile; named: string }>)
  | (PostgresPlace & Readonly<{ identity: NodeIdentity | undefined; spills: SpillsAt }>)

/** `startSyncDriver` makes a Worker of `src/ledger/postgres/sync-driver.ts`. `statementMs`: how long a statement of a read may take. */
export type ReadablePlace =
  | (SqlitePlace & Readonly<{ startSyncDriver?: () => Worker; statementMs?: number }>)
  | (PostgresPlace & Readonly<{ startSyncDriver: () => Worker; statementMs?: number }>)

/** As people may read it: never with a password. */
export const placeText = (place: Place): string => (place.kind === 'sqlite' ? place.path : addressOf(place.url))

function addressOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `Postgres ${host}${pathname}`
}
