/** What a client sees of an upstream is the same over `fetch`: the tests again in which the transport has a part. Rules: faults.md "Upstream calls"; operator.md "Configuration". */

import { describe, expect, spyOn, test } from 'bun:test'
import { nativeStream, textFrames } from '../support/fake-upstream.ts'
import { startStage } from '../support/stage.ts'
import { overFetch } from '../support/transport.ts'

const FILES = [
  'broken-streams',
  'clients-that-leave',
  'compressed-answers',
  'failover',
  'overload',
  'passing-through',
  'slow-clients',
  'start-of-answer',
  'stopped-streams',
  'taken-out',
  'upstream-table',
]

// As a module of its own: another file of this process may have imported it.
for (const file of FILES) describe(file, () => overFetch(() => import(`./${file}.test.ts?fetch`)))

describe('all of them', () =>
  overFetch(() => {
    test('reach their upstreams by fetch', async () => {
      await using stage = await startStage()
      stage.play(nativeStream(...textFrames('Good morning')))
      using calls = spyOn(globalThis, 'fetch')
      await (await stage.ask()).text()
      expect(calls.mock.calls.map(([url]) => String(url))).toContain(`${stage.upstream.url}/v1/messages`)
    })
  }))
