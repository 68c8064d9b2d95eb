/**
 * `bun run test`: every quick test file and a random part of the slow ones, four at a time, the slowest first. `SLOW_SECONDS` says how much of them, `all` every one;
 * `TEST_SEED` draws a part again. `bun run test FILE…` runs what it names, all of it. Times are those of test/timings.json, which `--update-timings` writes.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { drawFiles } from './draw-files.ts'
import { ROOT } from './made-once.ts'
import { randomFrom, SEED } from './seed.ts'

const TIMINGS = 'test/timings.json'
const PARALLEL = 4
const asked = process.env['SLOW_SECONDS'] || '600'
const given = process.argv.slice(2)
const isAll = asked === 'all' || given.some((argument) => !argument.startsWith('-'))
if (!isAll && !(Number(asked) >= 0)) throw new Error(`SLOW_SECONDS is neither a number nor all: ${asked}`)

const { files: recorded } = (await Bun.file(join(ROOT, TIMINGS)).json()) as { files: Record<string, number> }
const files = Object.fromEntries(Object.entries(recorded).filter(([file]) => existsSync(join(ROOT, file))))

function ignored(): readonly string[] {
  const { drawn, left } = drawFiles(files, Number(asked) * 1_000, randomFrom(SEED))
  console.log(
    `${drawn.length} of ${drawn.length + left.length} slow test files, drawn by TEST_SEED=${SEED}; SLOW_SECONDS=all runs every one:\n  ${drawn.toSorted().join('\n  ')}`,
  )
  return left.map((file) => `--path-ignore-patterns=${file}`)
}

const child = Bun.spawn(
  [process.execPath, 'test', `--parallel=${PARALLEL}`, `--timings=${TIMINGS}`, ...(isAll ? [] : ignored()), ...given],
  { cwd: ROOT, stdio: ['inherit', 'inherit', 'inherit'] },
)
// Told to end, it leaves no tests behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
process.exit(await child.exited)
