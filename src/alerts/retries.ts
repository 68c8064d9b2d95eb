/** When a delivery that failed is tried again, and when no more. Rules: pages.md "Webhooks". */

const PAUSES_MS = [5_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000]
/** Up to a fifth longer, so that what failed together does not come back together. */
const SPREAD = 0.2

/** `attempts`: those that failed, this one too. `random`: from 0 to 1. Undefined: it was the last. */
export function pauseMs(attempts: number, random: number): number | undefined {
  const pause = PAUSES_MS[attempts - 1]
  return pause === undefined ? undefined : Math.round(pause * (1 + SPREAD * random))
}
