/** The threads that every gateway starts, for tests bundled with their bytecode: tests start hundreds of them, each in half of the time that the sources take. */

import { join } from 'node:path'
import { madeOnce } from './made-once.ts'

const THREADS = ['src/ledger/thread.ts', 'src/history/thread.ts', 'src/answers/thread.ts', 'src/people/thread.ts']
const BUNDLED = ['--target=bun', '--format=cjs', '--bytecode', '--root=src']

const bundled = (name: string): Worker =>
  new Worker(
    join(
      madeOnce('threads', (to) => ['build', ...THREADS, ...BUNDLED, '--outdir', to]),
      name,
      'thread.js',
    ),
  )

export const startThread = (): Worker => bundled('ledger')
export const startHistoryThread = (): Worker => bundled('history')
export const startPeopleThread = (): Worker => bundled('people')
export const startAnswersThread = (): Worker => bundled('answers')
