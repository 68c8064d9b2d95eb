/**
 * The watermark, in a file of its own beside the ledger, says how many rows the next start must find at least. A ledger that was lost, was replaced by an older copy or
 * lost its log looks sound by itself. Rules: ledger.md "A ledger that vanishes".
 */

import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import type { FileId } from './file-id.ts'
import { canFollow, type Generation } from './generation.ts'

export type Watermark = Readonly<{
  /** The ledger's own id, made with the file; copies keep it. */
  ledger: string
  /** Device and inode. */
  file: string
  /** How many rows were in the ledger, as `Position` counts them. */
  rows: number
  /** `generation`: the one in the file, without its log. `newest`: the one that the writer committed last. Both are absent in watermarks of older versions. */
  generation?: Generation | undefined
  newest?: Generation | undefined
}>

export const watermarkPathOf = (ledgerPath: string): string => `${ledgerPath}.mark`

/** The size of the file. It fits one sector, so that no crash leaves half of it, and is overwritten in place, which a full disk does not refuse. */
const BYTES = 256
const OPEN_OR_MAKE = constants.O_WRONLY | constants.O_CREAT

/** Undefined: there is no watermark, or it cannot be read. */
export function readWatermark(ledgerPath: string): Watermark | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(watermarkPathOf(ledgerPath), 'utf8'))
    return isWatermark(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Checked by hand, because a library for it would be loaded with every thread of the ledger. */
function isWatermark(value: unknown): value is Watermark {
  const { ledger, file, rows, generation = '', newest = '' } = Object(value) as Record<keyof Watermark, unknown>
  const isNumber = typeof rows === 'number' && Number.isInteger(rows) && rows >= 0
  return [ledger, file, generation, newest].every((text) => typeof text === 'string') && isNumber
}

/** If the watermark cannot be written, the older one stays, which asks for fewer rows. */
export function writeWatermark(ledgerPath: string, mark: Watermark): void {
  try {
    const handle = openSync(watermarkPathOf(ledgerPath), OPEN_OR_MAKE, 0o600)
    try {
      writeSync(handle, `${JSON.stringify(mark).padEnd(BYTES - 1)}\n`, 0)
    } finally {
      closeSync(handle)
    }
  } catch {
    // The next watermark is written in a moment.
  }
}

export const removeWatermark = (ledgerPath: string): void => rmSync(watermarkPathOf(ledgerPath), { force: true })

/** Why a ledger with `rows` rows cannot be what the last process left; undefined: it can. */
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

/** Why the log beside a file cannot belong to the file; undefined: it can. `found`: the generation in the file. */
export function whatIsForeign(path: string, left: Watermark | undefined, found: Generation | undefined): string | undefined {
  if (left?.newest === undefined || canFollow(left.generation, found, left.newest)) return undefined
  return `${path} is another file than the one that ${path}-wal belongs to: it was overwritten; ${hintOf(path)}`
}

/** What to do when the file is gone. */
export const goneText = (path: string): string => `${path} is gone; ${hintOf(path)}`

const hintOf = (path: string): string =>
  `put back what is missing, or \`tollgate restore FILE\` a backup; to go on without it, remove ${watermarkPathOf(path)}`
