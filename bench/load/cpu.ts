/** The memory of processes and their CPU, on all threads, on the main thread, and on the thread that writes the ledger, from Linux's /proc. */

import { readdirSync, readFileSync } from 'node:fs'

/** Microseconds of the processor. */
export type Cpu = Readonly<{ all: number; main: number; ledger: number }>

export const NO_CPU: Cpu = { all: 0, main: 0, ledger: 0 }

/** The CPU of processes so far. A thread that has ended is not counted, so its time is missing. */
export function cpuOf(pids: readonly number[]): Cpu {
  const sum = { all: 0, main: 0, ledger: 0 }
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const us = threadUs(`/proc/${pid}/task/${thread}`)
      sum.all += us
      if (thread === String(pid)) sum.main += us
      else if (isLedger(`/proc/${pid}/task/${thread}`)) sum.ledger += us
    }
  }
  return sum
}

export const since = (now: Cpu, before: Cpu): Cpu => ({
  all: now.all - before.all,
  main: now.main - before.main,
  ledger: now.ledger - before.ledger,
})

/** The first number of `schedstat` is in nanoseconds, while `stat` counts hundredths of a second. */
function threadUs(folder: string): number {
  const text = read(`${folder}/schedstat`)
  return Number(text.slice(0, text.indexOf(' '))) / 1000
}

const isLedger = (folder: string): boolean => read(`${folder}/comm`).startsWith('Worker')

/** The bytes of the processes that are resident now. */
export function residentBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024, 0)
}

/** The bytes of a process that no other shares, and its proportional share of all that it has mapped (PSS). */
export function ownBytes(pid: number): Readonly<{ own: number; pss: number }> {
  const text = read(`/proc/${pid}/smaps_rollup`)
  const sum = (pattern: RegExp): number => [...text.matchAll(pattern)].reduce((total, [, kb]) => total + Number(kb) * 1024, 0)
  return { own: sum(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm), pss: sum(/^Pss:\s+(\d+) kB$/gm) }
}

/** The process and all that it started. */
export function withChildren(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return [pid, ...children.flatMap(withChildren)]
}

/** The text of a file; empty when the thread or the process has just ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
