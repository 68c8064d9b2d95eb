/**
 * How far the ledger had come, in a file of its own beside it: what the next start must find at least. A ledger that was lost, replaced by an older copy or
 * robbed of its log looks sound by itself. Rules: ledger.md "A ledger that vanishes".
 */

import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import type { FileId } from './file-id.ts'
import { canFollow, type Generation } from './generation.ts'

export type Watermark = Readonly<{
  /** The ledger's own id, made with the file; copies keep it. */
  ledger: string
  /** Device and inode. */
  file: string
  /** How many rows were in it, as `Position` counts them. */
  rows: number
  /** What the file said of itself, without its log, and what its writer wrote last; absent in marks of older versions. */
  generation?: Generation | undefined
  newest?: Generation | undefined
}>

export const watermarkPathOf = (ledgerPath: string): string => `${ledgerPath}.mark`

/** Fits one sector, so that no crash leaves half of it, and is overwritten in place, which a full disk does not refuse. */
const BYTES = 256
const OPEN_OR_MAKE = constants.O_WRONLY | constants.O_CREAT

/** Undefined where there is none, or none that can be read. */
export function readWatermark(ledgerPath: string): Watermark | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(watermarkPathOf(ledgerPath), 'utf8'))
    return isWatermark(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** By hand: a library for it would be loaded with every thread of the ledger. */
function isWatermark(value: unknown): value is Watermark {
  const { ledger, file, rows, generation = '', newest = '' } = Object(value) as Record<keyof Watermark, unknown>
  const isNumber = typeof rows === 'number' && Number.isInteger(rows) && rows >= 0
  return [ledger, file, generation, newest].every((text) => typeof text === 'string') && isNumber
}

/** One that cannot be written leaves the older one, which asks for less. */
export function writeWatermark(ledgerPath: string, mark: Watermark): void {
  try {
    const handle = openSync(watermarkPathOf(ledgerPath), OPEN_OR_MAKE, 0o600)
    try {
      writeSync(handle, `${JSON.stringify(mark).padEnd(BYTES - 1)}\n`, 0)
    } finally {
      closeSync(handle)
    }
  } catch {
    // The next one comes in a moment.
  }
}

export const removeWatermark = (ledgerPath: string): void => rmSync(watermarkPathOf(ledgerPath), { force: true })

/** Why a ledger with so many rows cannot be what the last process left; undefined: it can. */
export function whatIsMissing(
  path: string,
  left: Watermark | undefined,
  ledger: string,
  file: FileId | undefined,
  rows: number,
): string | undefined {
  if (left === undefined || (left.ledger === ledger && left.rows <= rows)) return undefined
  return `${path} ${describeLoss(left, ledger, file, rows)}; ${hintOf(path)}`
}

function describeLoss(left: Watermark, ledger: string, file: FileId | undefined, rows: number): string {
  if (left.ledger !== ledger) return 'is another ledger than the one that was here'
  const loss = `it has ${rows} of the ${left.rows} receipts and audit lines that the last process left`
  return left.file === file ? `has lost what was in its write-ahead log: ${loss}` : `is an older copy of the ledger that was here: ${loss}`
}

/** Why a file with a log beside it cannot be what that log belongs to, `found`: what the file says; undefined: it can. */
export function whatIsForeign(path: string, left: Watermark | undefined, found: Generation | undefined): string | undefined {
  if (left?.newest === undefined || canFollow(left.generation, found, left.newest)) return undefined
  return `${path} is another file than the one that ${path}-wal belongs to: it was overwritten; ${hintOf(path)}`
}

/** What to do where no file is, but one was. */
export const goneText = (path: string): string => `${path} is gone; ${hintOf(path)}`

const hintOf = (path: string): string =>
  `put back what is missing, or \`tollgate restore FILE\` a backup; to go on without it, remove ${watermarkPathOf(path)}`
