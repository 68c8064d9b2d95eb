#!/usr/bin/env bun
/**
 * Entry of the binary. A compiled binary finds a thread's file only by a URL that is made here, or in the ledger's thread, and the build names the same files.
 * Rules: architecture.md "Processes and threads".
 */

import { endWith, Output } from './cli/ending.ts'
import { runCli } from './cli/program.ts'
import { takeEnvironment } from './cli/proxies.ts'
import { describeBug } from './observe/bug.ts'

function main(): void {
  const [stdout, stderr] = [new Output(process.stdout), new Output(process.stderr)]
  runCli(process.argv.slice(2), {
    startThread: () => new Worker(new URL('./ledger/thread.ts', import.meta.url)),
    startBodyThread: () => new Worker(new URL('./relay/body-thread.ts', import.meta.url)),
    startAnswersThread: () => new Worker(new URL('./answers/thread.ts', import.meta.url)),
    startHistoryThread: () => new Worker(new URL('./history/thread.ts', import.meta.url)),
    startPeopleThread: () => new Worker(new URL('./people/thread.ts', import.meta.url)),
    startSyncDriver: () => new Worker(new URL('./ledger/postgres/sync-driver.ts', import.meta.url)),
    env: takeEnvironment(process.env),
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    folder: process.cwd(),
    now: Date.now,
  }).then(
    (exitCode) => endWith(exitCode, [stdout, stderr]),
    (error: unknown) => {
      stderr.write(`tollgate: a bug: ${Object.values(describeBug(error)).join(' ')}\n`)
      endWith(1, [stdout, stderr])
    },
  )
}

main()
