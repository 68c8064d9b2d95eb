/** Processes of one place as far as their operator reaches them, in this one: each with a pool, a socket and what it wrote into the audit log. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TimerWheel } from '../../src/core/timer-wheel.ts'
import type { Hold } from '../../src/ledger/ledger.ts'
import type { Act, Operation } from '../../src/ledger/operation.ts'
import type { Waits } from '../../src/operator/ask-gateways.ts'
import { joinSiblings } from '../../src/operator/join-siblings.ts'
import { listenForLines } from '../../src/operator/line-socket.ts'
import { type SocketPlace, socketPathFor } from '../../src/operator/socket-files.ts'
import { UpstreamPool } from '../../src/upstream/pool.ts'

export type Sibling = Readonly<{ pool: UpstreamPool; outs: () => readonly string[]; close: () => void }>
type SiblingOptions = Readonly<{ upstreams?: readonly string[]; running?: number; canWrite?: boolean; holds?: readonly Hold[] }>
type Line = Readonly<{ pid: number; operation: Operation; actor: string; reason: string }>

/** Long enough for who answers at all. */
export const WAITS: Waits = { ledger: 1_000, memory: 500 }

const nothing = (): void => undefined

export class SiblingPlace {
  readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-siblings-'))
  readonly place: SocketPlace = { kind: 'postgres', path: join(this.folder, 'tollgate.db') }
  readonly audit: Line[] = []
  readonly notices: string[] = []
  /** Runs before a line is written. */
  beforeWrite: () => Promise<unknown> = () => Promise.resolve()
  readonly #open = new Set<() => void>()

  async begin(
    pid: number,
    { upstreams = ['north', 'south'], running = 0, canWrite = true, holds = [] }: SiblingOptions = {},
  ): Promise<Sibling> {
    const events = {
      called: nothing,
      retried: nothing,
      placed: nothing,
      changed: nothing,
      otherModel: nothing,
      countDiffers: nothing,
      betasRefused: nothing,
      thinkingLost: nothing,
    }
    const pool = new UpstreamPool({ wheel: new TimerWheel(), now: Date.now, monotonicMs: () => 0, random: () => 0.5, events })
    const upstream = { call: () => Promise.reject(new Error('nobody is asked')) }
    pool.configure(upstreams.map((name) => ({ name, priority: 0, weight: 1, maxConcurrent: 99, upstream })))
    for (let call = 0; call < running; call++) pool.members()[0]?.turns.enter('acc_1')
    const ledger = {
      holds: () => holds,
      isWritable: () => canWrite,
      operate: async (operation: Operation, { actor = '', reason = '' }: Partial<Act> = {}) => {
        await this.beforeWrite()
        if (!canWrite) return { result: 'unavailable' } as const
        this.audit.push({ pid, operation, actor, reason })
        return { result: 'done' } as const
      },
    }
    const log = { notice: (text: string) => void this.notices.push(text) }
    const socket = await joinSiblings(this.place, ledger, { upstreams: pool, node: `web/${pid}`, log, pid, waits: WAITS })
    this.#open.add(() => socket.close())
    const outs = (): readonly string[] => pool.reports().flatMap(({ name, out }) => (out === null ? [] : [name]))
    return { pool, outs, close: () => socket.close() }
  }

  /** One that answers as it is told, or never; gives what ends it. */
  pretend(pid: number, answer: (line: string) => Promise<string> = () => new Promise(nothing)): () => void {
    const server = listenForLines(socketPathFor(this.place, pid), (line) => answer(line), nothing)
    const close = (): void => server.stop(true)
    this.#open.add(close)
    return close
  }

  /** Leaves a socket behind that nobody listens on. */
  leaveDead(pid: number): string {
    const path = socketPathFor(this.place, pid)
    const code = `Bun.listen({ unix: ${JSON.stringify(path)}, socket: { data() {} } }); process.kill(process.pid, 'SIGKILL')`
    Bun.spawnSync([process.execPath, '-e', code])
    return path
  }

  remove(): void {
    for (const close of this.#open) close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
