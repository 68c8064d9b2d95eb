/**
 * Each of several processes tells its parent the steps of its start, one line a step on standard output, so that a hanging start is told from a long one.
 * Rules: operator.md "Processes".
 */

import { writeSync } from 'node:fs'

const STDOUT = 1
const OPENS = 'tollgate opens: '
const LISTENS = 'tollgate listening on '

export type Heard = Readonly<{ kind: 'opens'; step: string } | { kind: 'listens'; url: string }>

/** Writes the step at once, since the thread may block afterwards. */
export function tellStep(step: string): void {
  try {
    writeSync(STDOUT, `${OPENS}${step}\n`)
  } catch {
    // The parent is gone, so no process reads the steps.
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
    }
  }
}
