#!/usr/bin/env bun
/**
 * Entry of the binary. The files of threads are named here and nowhere else but in the ledger's thread, as they are to the build: their URLs are found from this one in a compiled binary.
 */

import { runCli } from './cli/program.ts'
import { takeEnvironment } from './cli/proxies.ts'
import { describeBug } from './observe/bug.ts'

function main(): void {
  runCli(process.argv.slice(2), {
    startThread: () => new Worker(new URL('./ledger/thread.ts', import.meta.url)),
    startBodyThread: () => new Worker(new URL('./relay/body-thread.ts', import.meta.url)),
    startAnswersThread: () => new Worker(new URL('./answers/thread.ts', import.meta.url)),
    startWire: () => new Worker(new URL('./ledger/postgres/wire.ts', import.meta.url)),
    env: takeEnvironment(process.env),
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
    folder: process.cwd(),
    now: Date.now,
  }).then(
    // Not `process.exit`: output that a slow pipe has not taken yet would be lost.
    (exitCode) => {
      process.exitCode = exitCode
    },
    (error: unknown) => {
      process.stderr.write(`tollgate: a bug: ${Object.values(describeBug(error)).join(' ')}\n`)
      process.exitCode = 1
      // A bug may have left a thread or a listener behind.
      setTimeout(() => process.exit(), LINGER_MS).unref()
    },
  )
}

const LINGER_MS = 1_000

main()
