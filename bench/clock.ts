/** One clock for all processes of a run: microseconds of the machine. Each process takes the wall's time once, at its start, and counts steadily from there. */

const ORIGIN_US = performance.timeOrigin * 1000

export const nowUs = (): number => ORIGIN_US + performance.now() * 1000

/** How many digits a time has; sixteen are enough until the year 2286. */
export const STAMP_DIGITS = 16

export const stamp = (): string => Math.floor(nowUs()).toString()

export const sleep = (ms: number): Promise<void> => Bun.sleep(ms)
