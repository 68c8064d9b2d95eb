/** The time from the start of the process to the first answer that a client gets, with the ledger that the installation has. */

import { join } from 'node:path'
import { sleep } from '../clock.ts'
import { start } from './processes.ts'
import type { Installation } from './tollgate.ts'
import { chatBody, IN_ONE_PIECE } from './wire.ts'

const TIMEOUT_MS = 120_000

/** The time in milliseconds. */
export async function startToFirstAnswerMs({ binary, folder, port, key }: Installation): Promise<number> {
  const from = performance.now()
  const { stop } = start([binary, 'serve'], { cwd: folder, log: join(folder, 'start.out') })
  try {
    while (performance.now() - from < TIMEOUT_MS) {
      if (await isAnswered(port, key)) return performance.now() - from
      await sleep(1)
    }
    throw new Error(`no answer within ${TIMEOUT_MS} ms of the start`)
  } finally {
    await stop()
  }
}

async function isAnswered(port: number, key: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: chatBody(IN_ONE_PIECE),
    })
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}
