/** All that a load runs on: upstream, generator and gateways, each a process of its own, and Tollgate with its ledger in a folder that goes with them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { TOLLGATE } from '../readings.ts'
import { checkBodies } from './bodies-right.ts'
import { direct, type Gateway, peerAt, startNginx, startPassthrough, startPortkey } from './gateways.ts'
import { type Generator, startGenerator, startServer } from './processes.ts'
import { build, type Installation, install, startTollgate, verify } from './tollgate.ts'

export type Casting = Readonly<{
  /** A compiled Tollgate; it is built where none is named. */
  binary: string | undefined
  /** Another one, to be measured beside it. */
  against: string | undefined
  /** nginx and Portkey, as far as this machine has them. */
  withPeers: boolean
  /** `name=URL` of others that run already. */
  peers: readonly string[]
  /** Where the upstream listens; 0 for any free port. */
  upstreamPort: number
  /** The load without any gateway. */
  withNone: boolean
}>

export type Stage = Readonly<{
  folder: string
  generator: Generator
  upstreamPort: number
  gateways: readonly Gateway[]
  /** Where Tollgate is compiled. */
  binary: string
  /** Why a peer is missing. */
  notes: readonly string[]
  /** Throws what `tollgate verify` finds. */
  verify: () => void
  close: () => Promise<void>
}>

export async function openStage(
  { binary, against, withPeers, peers, upstreamPort, withNone }: Casting,
  say: (line: string) => void,
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const upstream = await startServer('upstream.ts', String(upstreamPort))
  const generator = await startGenerator()
  const installations: Installation[] = []
  const tollgate = async (name: string, file: string): Promise<Gateway> => {
    const installation = install(file, join(folder, name), upstream.port)
    installations.push(installation)
    return await startTollgate(name, installation)
  }
  const own = binary === undefined ? build(folder) : resolve(binary)
  const notes: string[] = []
  const gateways: Gateway[] = [...(withNone ? [direct(upstream.port)] : []), await startPassthrough(upstream.port)]
  if (withPeers) {
    const [nginx, portkey] = [await startNginx(upstream.port, folder), await startPortkey(upstream.port, folder)]
    if (nginx === undefined) notes.push('N, nginx: not installed')
    else gateways.push(nginx)
    if ('why' in portkey) notes.push(`P, Portkey: ${portkey.why}`)
    else gateways.push(portkey)
  }
  for (const peer of peers) gateways.push(peerAt(peer.slice(0, peer.indexOf('=')), peer.slice(peer.indexOf('=') + 1)))
  if (against !== undefined) gateways.push(await tollgate('against', resolve(against)))
  gateways.push(await tollgate(TOLLGATE, own))
  const close = async (): Promise<void> => {
    await Promise.all([...gateways.map(({ stop }) => stop()), generator.stop(), upstream.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    if (peers.length > 0) say(`the upstream listens on http://127.0.0.1:${upstream.port}`)
    for (const gateway of gateways) await checkBodies(gateway)
  } catch (error) {
    await close()
    throw error
  }
  return {
    folder,
    generator,
    upstreamPort: upstream.port,
    gateways,
    binary: own,
    notes,
    verify: () => installations.forEach(verify),
    close,
  }
}
