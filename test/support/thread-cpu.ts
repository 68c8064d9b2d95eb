/**
 * The processor's time of this thread, to the nanosecond: what other processes do to the machine is not in it. `process.threadCpuUsage` gives the same in
 * steps of the kernel's tick, 4 ms and more, which is as long as what is measured.
 */

import { dlopen, FFIType, ptr } from 'bun:ffi'

/** https://man7.org/linux/man-pages/man2/clock_gettime.2.html; the number differs on macOS. */
const [LIBRARY, CLOCK_THREAD_CPUTIME_ID] = process.platform === 'darwin' ? ['libSystem.dylib', 16] : ['libc.so.6', 3]

const { symbols } = dlopen(LIBRARY, { clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 } })
const time = new BigInt64Array(2)

function threadMs(): number {
  symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, ptr(time))
  return Number(time[0]) * 1_000 + Number(time[1]) / 1_000_000
}

/** Milliseconds that the thread worked until the work was done, at it or at what else has its turn meanwhile. */
export async function threadMsUntil(work: () => Promise<unknown>): Promise<number> {
  const start = threadMs()
  await work()
  return threadMs() - start
}

/** Milliseconds that the work held the thread for. */
export function threadMsOf(work: () => void): number {
  const start = threadMs()
  work()
  return threadMs() - start
}
