/**
 * The state of the ledger's file and its log, read without SQLite. Between two WAL checkpoints the file does not change, and a checkpoint of ours brings a newer generation;
 * the log gets longer, or begins again with the next salt. Rules: ledger.md "A ledger that is overwritten". Source: "Database File Format" of sqlite.org.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileId, idOf } from './file-id.ts'
import { GENERATION_PAGE, type Generation, generationIn } from './generation.ts'

/** `head`: the bytes of the header as latin1 text. `changedNs`: when the content was changed; neither a change of mode nor a reader counts. */
export type FileState = Readonly<{ bytes: number; changedNs: bigint; head: string; generation: Generation | undefined }>

const HEAD_BYTES = 100
const PAGE_BYTES_AT = 16
/** The place of two bytes, the versions for writing and reading: both are 2 in a file with a log, and 1 in a copy by `VACUUM INTO`. */
const FORMATS_AT = 18
const FORMATS_OF_LOG = 0x0202
const PAGES_AT = 28

/** `handle` is one that stays open, because closing another handle of the file would drop SQLite's locks. Throws what the file system says. */
export function stateOfFile(handle: number): FileState {
  const { size, mtimeNs } = fstatSync(handle, { bigint: true })
  const head = bytesAt(handle, 0, HEAD_BYTES)
  const pageBytes = head.length < HEAD_BYTES ? 0 : pageBytesIn(head)
  const generation = pageBytes === 0 ? undefined : generationIn(bytesAt(handle, (GENERATION_PAGE - 1) * pageBytes, pageBytes))
  return { bytes: Number(size), changedNs: mtimeNs, head: head.toString('latin1'), generation }
}

/** Whether a checkpoint can make `now` out of `before`. A checkpoint writes pages in order, so a growing file lacks some meanwhile; after a VACUUM it cuts the end of the file. */
export function fileCanFollow(before: FileState, now: FileState): boolean {
  const header = Buffer.from(now.head, 'latin1')
  if (header.length < HEAD_BYTES || header.readUInt16BE(FORMATS_AT) !== FORMATS_OF_LOG) return false
  return now.bytes >= before.bytes || now.bytes >= header.readUInt32BE(PAGES_AT) * pageBytesIn(header)
}

export const isSameFile = (a: FileState, b: FileState): boolean =>
  a.changedNs === b.changedNs && a.bytes === b.bytes && a.head === b.head && a.generation === b.generation

/** The size of a page. 65,536 does not fit the two bytes and is written as 1. */
function pageBytesIn(header: Buffer): number {
  const bytes = header.readUInt16BE(PAGE_BYTES_AT)
  return bytes === 1 ? 65_536 : bytes
}

/** `salt`: goes up by one each time the log begins again. `mark`: a new random number each time. */
export type LogState = Readonly<{ id: FileId; bytes: number; salt: number; mark: number }>

const LOG_HEAD_BYTES = 32
const FRAME_HEAD_BYTES = 24
const SALT_AT = 16
const MARK_AT = 20

/** Undefined: there is no log, or it cannot be read. */
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

/** How often a log may begin again between two looks. Each time takes a checkpoint and a commit. */
const RESTARTS_MAX = 1_000

/** Whether writers and checkpoints can turn the log `before` into `now`. `frames`: how many frames it has, by SQLite's count. `file`: the file to which the log belongs. */
export function logCanFollow(before: LogState | undefined, now: LogState | undefined, frames: number, file: FileState): boolean {
  if (before === undefined || now === undefined) return true
  if (frames > 0 && now.bytes < LOG_HEAD_BYTES + frames * (FRAME_HEAD_BYTES + pageBytesIn(Buffer.from(file.head, 'latin1')))) return false
  // A checkpoint may empty the log, which then begins again with the next commit.
  if (isEmpty(before) || isEmpty(now)) return true
  const restarts = (now.salt - before.salt) >>> 0
  return restarts <= RESTARTS_MAX && (restarts > 0 || now.mark === before.mark)
}

export const isEmpty = ({ bytes }: LogState): boolean => bytes < LOG_HEAD_BYTES

function bytesAt(handle: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(handle, bytes, 0, length, at))
}
