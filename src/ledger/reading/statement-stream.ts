/** A statement as a download: a part of it at a time, no faster than the client reads. Rules: ledger.md "Statements", "Reads". */

import { randomUUID } from 'node:crypto'
import type { StatementPart, StatementQuestion } from './account-reports.ts'
import type { Reports, Unread } from './reports.ts'

/** How long a download waits for its turn before it breaks off. */
const PAUSE_MS = 100
const PAUSES_MAX = 100

/** If a part cannot be read, the stream fails, so that no reader mistakes a part for the whole statement, whose signature comes last. Undefined: there is no such account. */
export async function statementStream(
  reports: Reports,
  client: string,
  question: Omit<StatementQuestion, 'ticket' | 'part'>,
): Promise<ReadableStream<Uint8Array> | undefined | Unread> {
  const ticket = randomUUID()
  const ask = (part: number) => patient(() => reports.ask<'statement'>(client, { ...question, ticket, part }))
  const first = await reports.ask<'statement'>(client, { ...question, ticket, part: 0 })
  if (typeof first !== 'object') return first
  const encoder = new TextEncoder()
  let { text, isLast } = first
  let part = 1
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A stream is not pulled again after a pull that enqueued nothing.
        while (text === '' && !isLast) {
          const found = await ask(part++)
          if (typeof found !== 'object') return controller.error(new Error(`the ledger answered ${found ?? 'that the statement is lost'}`))
          ;({ text, isLast } = found)
        }
        if (text !== '') controller.enqueue(encoder.encode(text))
        text = ''
        if (isLast) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Asks again while the questions of other clients fill the queue. */
async function patient(ask: () => Promise<StatementPart | undefined | Unread>): Promise<StatementPart | undefined | Unread> {
  for (let pauses = 0; ; pauses++) {
    const found = await ask()
    if ((found !== 'tooMany' && found !== 'overloaded') || pauses === PAUSES_MAX) return found
    await Bun.sleep(PAUSE_MS)
  }
}
