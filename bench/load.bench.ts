/**
 * `bun run bench load [--quick] [--peers] [--binary FILE] [--against FILE] [--peer NAME=URL] [--upstream-port N] [loads…]`: Tollgate under sockets, beside the
 * bare passthrough and the peers that are named.
 */

import { parseArgs } from 'node:util'
import { judge, judgedText } from './judge.ts'
import { LOADS } from './load/loads.ts'
import { FULL, LoadRunner, QUICK } from './load/run-loads.ts'
import { openStage } from './load/stage.ts'
import { Readings } from './readings.ts'
import { rowsWith } from './rows.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    binary: { type: 'string' },
    against: { type: 'string' },
    peer: { type: 'string', multiple: true, default: [] },
    'upstream-port': { type: 'string', default: '0' },
  },
})
const unknown = positionals.filter((name) => !LOADS.some((load) => load.name === name))
if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: the loads are ${LOADS.map(({ name }) => name).join(', ')}`)

const say = (line: string): void => console.error(line)
const stage = await openStage({
  binary: values.binary,
  against: values.against,
  withPeers: values.peers,
  peers: values.peer,
  upstreamPort: Number(values['upstream-port']),
  withNone: !values.quick,
})
const readings = new Readings()
await stage.during(async () => {
  const runner = new LoadRunner(stage.generators[0], values.quick ? QUICK : FULL, readings, say)
  const asked = LOADS.filter(({ name, isQuick }) => (positionals.length === 0 ? isQuick || !values.quick : positionals.includes(name)))
  for (const load of asked) await runner.run(load, stage.gateways)
  stage.verify()
})
for (const note of stage.notes) say(note)
const names = stage.gateways.map(({ name }) => name)
console.log(judgedText(judge(rowsWith(0), readings, names), names))
