/**
 * Chooses this process's own spill. Several processes of one folder may write the same ledger, and a new one starts while the old one still drains. Each locks a file of its
 * own until the process ends, and not only until a thread ends; the next process takes over the spill of a dead one. Rules: ledger.md "Spill"; nodes.md "Fencing".
 */

import { closeSync, constants, mkdirSync, openSync, readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { SpillsAt } from '../place.ts'
import { tryLock } from '../writing/flock.ts'
import { spillPathOf } from '../writing/spill.ts'

/** The spills of this process, all locked until `release`. */
type SpillPlaces = SpillsAt & Readonly<{ release: () => void }>

const OPEN_OR_MAKE = constants.O_RDWR | constants.O_CREAT

/** Throws what the file system says. */
export function takeSpillPlaces(ledgerPath: string): SpillPlaces {
  mkdirSync(dirname(ledgerPath), { recursive: true })
  const handles: number[] = []
  const take = (number: number): string | undefined => {
    const place = `${ledgerPath}.${number}`
    const handle = openSync(spillPathOf(place), OPEN_OR_MAKE, 0o600)
    if (tryLock(handle)) {
      handles.push(handle)
      return place
    }
    closeSync(handle)
    return undefined
  }
  const left = numbersAt(ledgerPath)
    .map(take)
    .filter((place) => place !== undefined)
  let own = left.shift()
  for (let number = 0; own === undefined; number++) own = take(number)
  return { own, left, release: () => handles.splice(0).forEach(closeSync) }
}

/** The numbers of the spills in the folder, lowest first. */
function numbersAt(ledgerPath: string): readonly number[] {
  const before = `${basename(ledgerPath)}.`
  return readdirSync(dirname(ledgerPath))
    .filter((name) => name.startsWith(before) && name.endsWith('.spill'))
    .map((name) => Number(name.slice(before.length, -'.spill'.length)))
    .filter(Number.isSafeInteger)
    .sort((a, b) => a - b)
}
