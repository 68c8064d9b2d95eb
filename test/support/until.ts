/**
 * Waiting that a busy machine cannot turn red: until something is so, until a figure stands still, and a watch for "at once" that counts only the time that
 * this process had. The limits are there for what hangs.
 */

const LIMIT_MS = 60_000
const LOOK_MS = 5
const STILL_LOOKS = 50
const TICK_MS = 10
const RUNS_MAX = 20

/** Waits for what no event tells. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string) = `${holds}`,
  limitMs = LIMIT_MS,
): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not so after ${limitMs} ms: ${typeof what === 'string' ? what : what()}`)
    await Bun.sleep(LOOK_MS)
  }
}

/** Waits until a figure is the same at 50 looks in a row, between which everything in this process has its turn, and gives it: at what it stands is not for a test to know. */
export async function untilStill(figure: () => number, what = `${figure}`, limitMs = LIMIT_MS): Promise<number> {
  const endMs = performance.now() + limitMs
  let last = figure()
  for (let looks = 0; looks < STILL_LOOKS; ) {
    await Bun.sleep(LOOK_MS)
    const now = figure()
    looks = now === last ? looks + 1 : 0
    last = now
    if (performance.now() > endMs) throw new Error(`it moves after ${limitMs} ms, at ${now}: ${what}`)
  }
  return last
}

/** Resolves in an hour, or day, of UTC of which so much is left that what counts by it stays within it: at its edge it waits for the next one. */
export async function roomIn(periodMs: number, leftMs: number): Promise<void> {
  for (;;) {
    const ms = periodMs - (Date.now() % periodMs)
    if (ms >= leftMs) return
    await Bun.sleep(ms)
  }
}

export type Watch = Disposable &
  Readonly<{
    ms(): number
    /** The longest time in one piece for which there was no turn. */
    longestGapMs(): number
  }>

/** Counts from now on. While this process gets no turn it stands still, so that what others take from the machine is not taken for slowness of ours. */
export function startWatch(): Watch {
  let countedMs = 0
  let longestGapMs = 0
  let lastMs = performance.now()
  const tick = (): void => {
    const gapMs = performance.now() - lastMs
    countedMs += Math.min(gapMs, 2 * TICK_MS)
    longestGapMs = Math.max(longestGapMs, gapMs)
    lastMs += gapMs
  }
  const timer = setInterval(tick, TICK_MS)
  return {
    ms: () => {
      tick()
      return countedMs
    },
    longestGapMs: () => {
      tick()
      return longestGapMs
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/**
 * What a run gives whose times are the product's own and cannot be made longer: one in which this process had no turn for more than `gapMsMax` says nothing of
 * them, and is repeated.
 */
export async function undisturbed<Result>(gapMsMax: number, run: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    using watch = startWatch()
    const result = await run()
    if (watch.longestGapMs() <= gapMsMax || attempt === RUNS_MAX) return result
  }
}

/** Processor time of this process from now on, for what runs in one piece: time that others take from the machine is not in it. */
export function startProcessorWatch(): () => number {
  const from = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(from)
    return (user + system) / 1_000
  }
}
