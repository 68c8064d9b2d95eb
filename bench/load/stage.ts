/** All that a load runs on: upstream, generators and gateways, each a process of its own, and Tollgate with its ledger in a folder that goes with them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { NONE, TOLLGATE } from '../readings.ts'
import { checkBodies } from './bodies-right.ts'
import { direct, type Gateway, peerAt, startNginx, startPassthrough, startPortkey } from './gateways.ts'
import { type Generator, startGenerator, startServer } from './processes.ts'
import { build, type Installation, install, startTollgate, verify } from './tollgate.ts'

export type Casting = Readonly<{
  /** A compiled Tollgate; it is built where none is named. */
  binary: string | undefined
  /** Another compiled Tollgate, to be measured beside the first. */
  against: string | undefined
  /** Whether nginx and Portkey are measured, as far as this machine has them. */
  withPeers: boolean
  /** `name=URL` of others that run already. */
  peers: readonly string[]
  /** Where the upstream listens; 0 for any free port. */
  upstreamPort: number
  /** Whether loads also run without any gateway. */
  withNone: boolean
}>

export type Stage = Readonly<{
  folder: string
  /** The second generator disturbs the load of the first. */
  generators: readonly [Generator, Generator]
  gateways: readonly Gateway[]
  /** Starts another process of the same gateway, cold and with a ledger of its own; undefined for a gateway that only has an address. */
  another: (name: string) => Promise<Gateway | undefined>
  /** Tollgate, not started, with a key and a ledger of its own. */
  installation: (name: string) => Installation
  /** Tollgate, not started, with a ledger on Postgres that several processes share; the caller verifies the ledger while Postgres runs. */
  sharedInstallation: (url: string, processes: number) => Installation
  /** The reasons why peers are missing. */
  notes: readonly string[]
  /** Throws an error with what `tollgate verify` finds. */
  verify: () => void
  /** Does `work`, then ends all processes. Where `work` fails, the folder stays, with ledgers and logs, and its place is printed. */
  during: (work: () => Promise<void>) => Promise<void>
}>

/** Tollgate beside a bare Bun proxy, and nothing else. */
export const openOwnStage = (binary: string | undefined): Promise<Stage> =>
  openStage({ binary, against: undefined, withPeers: false, peers: [], upstreamPort: 0, withNone: false })

export async function openStage(casting: Casting): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  const upstream = await startServer('upstream.ts', String(casting.upstreamPort))
  const generators = [await startGenerator(), await startGenerator()] as const
  const binaries = new Map([[TOLLGATE, casting.binary === undefined ? build(folder) : resolve(casting.binary)]])
  if (casting.against !== undefined) binaries.set('against', resolve(casting.against))
  const installed: Installation[] = []
  const running: Gateway[] = []
  const notes: string[] = []
  const installation = (name: string): Installation => {
    const made = install(binaries.get(name) ?? '', join(folder, `${name}-${installed.length}`), upstream.port)
    installed.push(made)
    return made
  }
  const sharedInstallation = (url: string, processes: number): Installation =>
    install(binaries.get(TOLLGATE) ?? '', join(folder, `shared-by-${processes}`), upstream.port, { url, processes })
  const another = async (name: string): Promise<Gateway | undefined> => {
    const started = await startByName(name)
    if (started === undefined || 'why' in started) {
      if (started !== undefined) notes.push(`${name}: ${started.why}`)
      return undefined
    }
    running.push(started)
    await checkBodies(started)
    return started
  }
  const startByName = async (name: string): Promise<Gateway | { why: string } | undefined> => {
    if (name === NONE) return direct(upstream.port)
    if (name === 'R') return await startPassthrough(upstream.port)
    if (name === 'N') return await startNginx(upstream.port, folder)
    if (name === 'P') return await startPortkey(upstream.port, folder)
    if (binaries.has(name)) return await startTollgate(name, installation(name))
    const url = casting.peers.find((peer) => peer.startsWith(`${name}=`))?.slice(name.length + 1)
    return url === undefined ? undefined : peerAt(name, url)
  }
  const during = async (work: () => Promise<void>): Promise<void> => {
    let isDone = false
    try {
      await work()
      isDone = true
    } finally {
      await Promise.all([...running.map(({ stop }) => stop()), ...generators.map(({ stop }) => stop()), upstream.stop()])
      if (isDone) rmSync(folder, { recursive: true, force: true })
      else console.error(`what there was is kept in ${folder}`)
    }
  }
  const named = casting.peers.map((peer) => peer.slice(0, peer.indexOf('=')))
  const names = [
    ...(casting.withNone ? [NONE] : []),
    'R',
    ...(casting.withPeers ? ['N', 'P'] : []),
    ...named,
    ...[...binaries.keys()].toReversed(),
  ]
  const gateways: Gateway[] = []
  const begin = async (): Promise<void> => {
    for (const name of names) {
      const gateway = await another(name)
      if (gateway !== undefined) gateways.push(gateway)
    }
  }
  await begin().catch((error: unknown) => during(() => Promise.reject(error)))
  return { folder, generators, gateways, another, installation, sharedInstallation, notes, verify: () => installed.forEach(verify), during }
}
