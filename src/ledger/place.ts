/** The place of a ledger: a file of this machine, or Postgres. Rules: ledger.md "Two stores". */

import type { NodeIdentity } from './nodes.ts'

/** A ledger's file that is locked for writing: device and inode, and a handle of it that stays open, in whichever thread. */
export type LockedFile = Readonly<{ id: string; handle: number }>

type SqlitePlace = Readonly<{ kind: 'sqlite'; path: string }>

/** `path`: its folder has the node's own files, such as the spill. */
export type PostgresPlace = Readonly<{
  kind: 'postgres'
  path: string
  /** The address, with user and password. */
  url: string
  /** This node's name in reports. */
  node: string
  /** How long a node that is not heard of keeps its lane, its leases and its requests in flight. */
  leaseMs: number
  /** The most connections to Postgres; absent: the least that a process needs. */
  connections?: number
  /** The Ed25519 key as PEM; undefined: no statement can be signed. */
  statementKey: string | undefined
}>

export type Place = SqlitePlace | PostgresPlace

/** The paths for `spillPathOf`: this process's own, and those that dead processes left. */
export type SpillsAt = Readonly<{ own: string; left: readonly string[] }>

/**
 * `file`: the locked file, whatever the path leads to now. `named`: the path as it is configured, which may be a link. `identity`: the node's right to write; undefined while
 * it has none. `spills`: the process locks them, so that the thread that follows a dead one finds what that had kept.
 */
export type WritablePlace =
  | (SqlitePlace & Readonly<{ file: LockedFile; named: string }>)
  | (PostgresPlace & Readonly<{ identity: NodeIdentity | undefined; spills: SpillsAt }>)

/** `startSyncDriver` makes a Worker of `src/ledger/postgres/sync-driver.ts`. `statementMs`: how long a statement of a read may take. */
export type ReadablePlace =
  | (SqlitePlace & Readonly<{ startSyncDriver?: () => Worker; statementMs?: number }>)
  | (PostgresPlace & Readonly<{ startSyncDriver: () => Worker; statementMs?: number }>)

/** The place in a text for people, which never has the password. */
export const placeText = (place: Place): string => (place.kind === 'sqlite' ? place.path : addressOf(place.url))

function addressOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `Postgres ${host}${pathname}`
}
