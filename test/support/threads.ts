/** The ledger's thread for tests, bundled with its bytecode: tests start hundreds of them, each in half of the time that the sources take. */

import { join } from 'node:path'
import { madeOnce } from './made-once.ts'

const BUNDLED = ['--target=bun', '--format=cjs', '--bytecode']

export function startThread(): Worker {
  const folder = madeOnce('thread', (to) => ['build', 'src/ledger/thread.ts', ...BUNDLED, '--outdir', to])
  return new Worker(join(folder, 'thread.js'))
}
