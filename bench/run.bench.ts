/** `bun run bench [NAME] [options…]` runs `bench/NAME.bench.ts`; each answers one question, and its first comment says which options it takes. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'

const ALL = 'compare'
const [first = ALL, ...rest] = process.argv.slice(2)
const [name, options] = first.startsWith('-') ? [ALL, [first, ...rest]] : [first, rest]
const file = join(import.meta.dir, `${name}.bench.ts`)
if (!existsSync(file) || name === 'run') throw new Error(`no ${name}: the names stand in bench/README.md`)
process.exitCode = Bun.spawnSync([process.execPath, file, ...options], { stdio: ['inherit', 'inherit', 'inherit'] }).exitCode
