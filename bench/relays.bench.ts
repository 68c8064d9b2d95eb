/**
 * `bun run bench relays [--quick] [--binary FILE] [--write]`: one, two and four relays on one ledger process beside one process. `--write` puts the figures into the
 * results of today, and makes the picture.
 */

import { parseArgs } from 'node:util'
import { openOwnStage } from './load/stage.ts'
import { measureRelays, RELAYS_FULL, RELAYS_QUICK, relaysText } from './relays/measure-relays.ts'
import { relaysPicture } from './relays/picture.ts'
import { joinPart, machineText, writePicture } from './results.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, binary: { type: 'string' }, write: { type: 'boolean', default: false } },
})
const began = performance.now()
const stage = await openOwnStage(values.binary)
await stage.during(async () => {
  const relays = await measureRelays(stage, values.quick ? RELAYS_QUICK : RELAYS_FULL, (line) => console.error(line))
  stage.verify()
  console.log(relaysText(relays))
  console.log(`${machineText()}; ${Math.round((performance.now() - began) / 1_000)} s`)
  if (!values.write) return
  const date = new Date().toISOString().slice(0, 10)
  console.log(await joinPart(date, 'relays', relays))
  console.log(await writePicture('relays.svg', relaysPicture(relays.readings, `${machineText()}, ${date}`)))
})
