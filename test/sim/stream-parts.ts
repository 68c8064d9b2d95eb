/** What clients and upstreams of the simulated streams share: the relays as they see them, and what is drawn, met and found. Rules: requests.md "Joined answers". */

import type { KeyRecord } from '../../src/core/key.ts'
import type { Random } from '../support/seed.ts'
import type { VirtualTime } from './virtual-time.ts'

/** A relay, as far as it matters to streams whether it lives and moves. */
export type Host = Readonly<{ pid: number; isAlive: boolean; isStopped: boolean; claims: Held['claims']; limits: Held['limits'] }>
type Held = Readonly<{
  claims: Readonly<{ running: readonly Readonly<{ keyId: string }>[] }>
  limits: Readonly<{ places: readonly (readonly [keyId: string, places: number])[] }>
}>

export type Around = Readonly<{ random: Random; time: VirtualTime; meet: (what: string) => void; log: string[] }>
/** `fail`: notes a finding where no step of the simulation can throw it. */
export type Parts = Around & Readonly<{ fail: (finding: unknown) => void }>

export const STREAM_KEY: KeyRecord = {
  ...{ id: 'key_streams', accountId: 'acc_streams', name: '', display: '', plan: 'default' },
  ...{ limitPicos: null, expiresAt: null, isActive: true, isAccountActive: true },
}

/** Notes what `look` finds instead of throwing it: the product calls it, and would take what it throws for its own fault. */
export function guard({ fail }: Pick<Parts, 'fail'>, look: () => void): void {
  try {
    look()
  } catch (error) {
    fail(error)
  }
}
