/**
 * `bun run bench nodes [--quick] [--binary FILE] [--write]`: several processes on one ledger, Postgres beside SQLite. `--write` puts the figures into the results of today.
 */

import { parseArgs } from 'node:util'
import { openOwnStage } from './load/stage.ts'
import { measureNodes, NODES_FULL, NODES_QUICK, nodesText } from './nodes/measure-nodes.ts'
import { joinPart, machineText } from './results.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, binary: { type: 'string' }, write: { type: 'boolean', default: false } },
})
const began = performance.now()
const stage = await openOwnStage(values.binary)
await stage.during(async () => {
  const nodes = await measureNodes(stage, values.quick ? NODES_QUICK : NODES_FULL, (line) => console.error(line))
  stage.verify()
  console.log(nodesText(nodes))
  console.log(`${machineText()}; ${Math.round((performance.now() - began) / 1_000)} s`)
  if (values.write) console.log(await joinPart(new Date().toISOString().slice(0, 10), 'nodes', nodes))
})
