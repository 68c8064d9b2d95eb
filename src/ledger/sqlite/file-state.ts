/**
 * What the ledger's file and its log are like, past SQLite: between two checkpoints nothing of the file changes, and a checkpoint of ours brings a newer generation; a
 * log gets longer, or begins again with the next salt. Rules: ledger.md "A ledger that is overwritten". Source: "Database File Format" of sqlite.org.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { WAL_BYTES_KEPT } from '../../../db/open.ts'
import { type FileId, idOf } from './file-id.ts'
import { GENERATION_PAGE, type Generation, generationIn } from './generation.ts'

/** `head`: the header, as text of its bytes. `changedNs`: of the content, so that neither a mode nor a reader changes it. */
export type FileState = Readonly<{ bytes: number; changedNs: bigint; head: string; generation: Generation | undefined }>

const HEAD_BYTES = 100
const PAGE_BYTES_AT = 16
const PAGES_AT = 28

/** By a handle that stays open: to close another one of the file would drop SQLite's locks. Throws what the file system says. */
export function stateOfFile(handle: number): FileState {
  const { size, mtimeNs } = fstatSync(handle, { bigint: true })
  const head = bytesAt(handle, 0, HEAD_BYTES)
  const pageBytes = head.length < HEAD_BYTES ? 0 : pageBytesIn(head)
  const generation = pageBytes === 0 ? undefined : generationIn(bytesAt(handle, (GENERATION_PAGE - 1) * pageBytes, pageBytes))
  return { bytes: Number(size), changedNs: mtimeNs, head: head.toString('latin1'), generation }
}

/** Whether it has all pages that its header counts. */
export function isWhole({ bytes, head }: FileState): boolean {
  const header = Buffer.from(head, 'latin1')
  return header.length === HEAD_BYTES && bytes >= header.readUInt32BE(PAGES_AT) * pageBytesIn(header)
}

/** 65,536 does not fit its place and is written as 1. */
function pageBytesIn(header: Buffer): number {
  const bytes = header.readUInt16BE(PAGE_BYTES_AT)
  return bytes === 1 ? 65_536 : bytes
}

/** `salt`: it goes up by one each time that the log begins again; `mark`: new and random each time. */
export type LogState = Readonly<{ id: FileId; bytes: number; salt: number; mark: number }>

const LOG_HEAD_BYTES = 32
const SALT_AT = 16
const MARK_AT = 20

/** Undefined where no log is, or none that can be read. */
export function stateOfLog(path: string): LogState | undefined {
  try {
    const handle = openSync(path, 'r')
    try {
      const stat = fstatSync(handle, { bigint: true })
      const head = Buffer.alloc(LOG_HEAD_BYTES)
      readSync(handle, head, 0, LOG_HEAD_BYTES, 0)
      return { id: idOf(stat), bytes: Number(stat.size), salt: head.readUInt32BE(SALT_AT), mark: head.readUInt32BE(MARK_AT) }
    } finally {
      closeSync(handle)
    }
  } catch {
    return undefined
  }
}

/** How often a log may have begun again between two looks, which takes a checkpoint and a commit each. */
const RESTARTS_MAX = 1_000

/** Whether a log that was `before` can be `now` by what its writer does. One that begins again is cut to what is kept of it. */
export function logCanFollow(before: LogState | undefined, now: LogState | undefined): boolean {
  if (before === undefined || now === undefined) return true
  const restarts = (now.salt - before.salt) >>> 0
  if (restarts === 0 && now.mark !== before.mark) return false
  return restarts <= RESTARTS_MAX && (now.bytes >= before.bytes || now.bytes >= WAL_BYTES_KEPT)
}

function bytesAt(handle: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(handle, bytes, 0, length, at))
}
