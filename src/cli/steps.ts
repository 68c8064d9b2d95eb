/**
 * What each of several processes tells its parent, a line each on standard output: the steps of its start, so that a hanging start is told from a long one; that the
 * whole set is to reload; and which relay the ledger process has cut off. Rules: operator.md "Processes", "Reload".
 */

import { writeSync } from 'node:fs'
import type { ReloadOrder } from './process-commands.ts'

const STDOUT = 1
const OPENS = 'tollgate opens: '
const LISTENS = 'tollgate listening on '
const ASKS = 'tollgate asks: '
const CUTS_OFF = 'tollgate cuts off: '

export type Heard = Readonly<
  | { kind: 'opens'; step: string }
  | { kind: 'listens'; url: string }
  | { kind: 'asks'; order: ReloadOrder }
  | { kind: 'cutsOff'; pid: number }
>

/** Writes the step at once, since the thread may block afterwards. */
export const tellStep = (step: string): void => tellParent(OPENS, step)

/** Has the parent tell all of its processes to reload. */
export const askOfParent = (order: ReloadOrder): void => tellParent(ASKS, order)

/** Tells the parent which of its processes may be no relay any more. */
export const tellCutOff = (pid: number): void => tellParent(CUTS_OFF, String(pid))

function tellParent(what: string, words: string): void {
  try {
    writeSync(STDOUT, `${what}${words}\n`)
  } catch {
    // The parent is gone, so no process reads it.
  }
}

export const listeningLine = (url: string): string => `${LISTENS}${url}\n`

/** Reads until the output ends; other lines are ignored. */
export async function* heardIn(output: ReadableStream<Uint8Array>): AsyncGenerator<Heard, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    const lines = (text + decoder.decode(bytes, { stream: true })).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith(OPENS)) yield { kind: 'opens', step: line.slice(OPENS.length) }
      if (line.startsWith(LISTENS)) yield { kind: 'listens', url: line.slice(LISTENS.length) }
      if (line === `${ASKS}reload` || line === `${ASKS}reloadWithLine`)
        yield { kind: 'asks', order: line.slice(ASKS.length) as ReloadOrder }
      if (line.startsWith(CUTS_OFF)) yield { kind: 'cutsOff', pid: Number(line.slice(CUTS_OFF.length)) }
    }
  }
}
