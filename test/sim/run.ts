/** `bun run sim [--seeds N] [--seed S] [--postgres]`: so many simulated worlds, from a first seed on. A finding is printed with the seed that has it, and how it came to it. */

import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
  },
})
const first = Number(values.seed)
const count = Number(values.seeds)
const startedAt = performance.now()
const { finding, met } = await simulate(first, count, values.postgres ? (await import('./on-postgres.ts')).ON_POSTGRES : undefined)
if (finding !== undefined) {
  console.log(finding.log.slice(-60).join('\n'))
  console.log(
    `\nseed ${finding.seed}: ${finding.text}\nbun run sim --seeds 1 --seed ${finding.seed}${values.postgres ? ' --postgres' : ''}`,
  )
  process.exit(1)
}
for (const [what, times] of [...met].toSorted()) console.log(`${String(times).padStart(7)}  ${what}`)
console.log(`${count} worlds from seed ${first}: nothing found, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
