/** A receipt names its conversation, and only within its account. Rules: pool.md "Affinity". */

import { afterAll, expect, test } from 'bun:test'
import { nativeStream, textFrames } from '../support/fake-upstream.ts'
import { FORMATS, startStage } from '../support/stage.ts'

const stage = await startStage()
afterAll(() => stage.stop())

test('two requests of a conversation have one hash, another conversation and another account have others', async () => {
  stage.play(nativeStream(...textFrames('Good morning')))
  const other = await stage.gateway.createKey()
  for (const format of FORMATS) {
    const ask = (session: string, key = stage.secret) =>
      stage.ask({ format, stream: true }, { headers: { authorization: `Bearer ${key}`, 'x-session-id': session } })
    const receipts = await stage.receiptsOf(async () => {
      for (const [session, key] of [['a'], ['a'], ['b'], ['a', other]] as const) await (await ask(session, key)).text()
    })
    const hashes = receipts.map(({ sessionHash }) => sessionHash?.toString('hex'))
    expect(hashes, format).toHaveLength(4)
    expect(new Set(hashes).size, format).toBe(3)
    for (const hash of hashes) expect(hash, format).toMatch(/^[0-9a-f]{64}$/)
  }
})
