/**
 * A ledger process and its relays, as `serve --processes` begins them, with the same environment, but one relay at the least: each is begun by the part that it is, so that
 * the bench knows which process is which.
 */

import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { BEGUN_WITH } from '../../src/cli/begun-with.ts'
import type { Gateway } from '../load/gateways.ts'
import { RAISED } from '../load/processes.ts'
import { gatewayAt, type Installation } from '../load/tollgate.ts'

export type RelaySet = Readonly<{ gateway: Gateway; relays: readonly number[] }>

type Part = Readonly<{ pid: number; stop: () => Promise<void> }>

const LISTENS = 'tollgate listening on '

export async function startRelays(name: string, installation: Installation, count: number): Promise<RelaySet> {
  const parts: Part[] = []
  const stop = async (): Promise<void> => {
    const [leader, ...relays] = parts
    await Promise.all(relays.map((relay) => relay.stop()))
    await leader?.stop()
  }
  try {
    for (let index = 0; index <= count; index++) parts.push(await startPart(installation, index, count))
  } catch (error) {
    await stop()
    throw error
  }
  const pids = parts.map(({ pid }) => pid)
  return { gateway: gatewayAt(name, installation, { pids: () => pids, stop }), relays: pids.slice(1) }
}

/** Resolves when the process listens. It drains when its standard input ends, so that stays open until it shall stop. */
async function startPart({ binary, folder, port }: Installation, index: number, count: number): Promise<Part> {
  const said = openSync(join(folder, 'tollgate.out'), 'a')
  const child = Bun.spawn([...RAISED, binary, 'serve', '--part', `${index}/${count}`, '--port', String(port)], {
    cwd: folder,
    env: { ...BEGUN_WITH, ...process.env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: said,
  })
  closeSync(said)
  const stop = async (): Promise<void> => {
    await child.stdin.end()
    await child.exited
  }
  const decoder = new TextDecoder()
  let heard = ''
  for await (const bytes of child.stdout) {
    heard += decoder.decode(bytes, { stream: true })
    if (heard.includes(LISTENS)) return { pid: child.pid, stop }
  }
  throw new Error(`part ${index} of ${count} ended before it listened: ${heard}`)
}
