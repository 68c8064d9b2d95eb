/**
 * Everything that looks random in the simulator: a keyed hash, and dice thrown from it. The same seed and the same words give the same answer. Rules: faults.md "Simulator".
 */

export interface Seed {
  /** 16 hexadecimal digits. */
  hash(...words: readonly (string | number)[]): string
  dice(...words: readonly (string | number)[]): Dice
}

/** Throws a whole number from 0 to `sides` − 1. */
export type Dice = (sides: number) => number

export function makeSeed(seed: number): Seed {
  const key = BigInt.asUintN(64, BigInt(Math.trunc(seed)))
  const number = (words: readonly (string | number)[]): bigint => Bun.hash.wyhash(words.join('\0'), key)
  return {
    hash: (...words) => number(words).toString(16).padStart(16, '0'),
    dice: (...words) => makeDice(Number(BigInt.asUintN(32, number(words)))),
  }
}

/** Mulberry32: a small generator, uniform enough for sentence lengths, and the same on every machine. */
function makeDice(start: number): Dice {
  let state = start
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides
  }
}
