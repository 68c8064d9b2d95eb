/** What a failure without an answer says of its upstream. Rules: faults.md "Before the first byte"; pool.md "Breaker". */

import { expect, test } from 'bun:test'
import { connectionFault } from '../../src/upstream/fault.ts'

test('where no connection came about the upstream is dead, what broke on one is broken, and what is ours blames nobody', () => {
  for (const [causes, kind] of [
    [['refused', 'dns', 'tls', 'connect', 'connect timeout'], 'dead'],
    [['reset', 'malformed'], 'broken'],
    [['aborted', 'request', 'not configured'], undefined],
  ] as const)
    for (const cause of causes) {
      const { trouble, refusal } = connectionFault('north', cause)
      expect([cause, trouble?.kind, refusal.name]).toEqual([cause, kind, 'upstreamBroken'])
    }
})
