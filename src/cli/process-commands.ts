/**
 * Commands from the parent of several processes to each of them: one word a line over standard input. A command may arrive twice, or beside a signal to the whole
 * group, so it has the same effect each time. When standard input ends, the parent is gone and nothing would restart this process: it drains. Rules: operator.md
 * "Processes".
 */

import { createInterface } from 'node:readline'

/** `reload`: its line of the audit log was written by the process that asked for it. `reloadWithLine`: the process that is told so writes it. */
export type ReloadOrder = 'reload' | 'reloadWithLine'
export type ProcessCommand = 'drain' | 'hurry' | ReloadOrder
export type CommandEffects = Readonly<Record<ProcessCommand, () => void>>

/** Returns a function that ends the reading, which would otherwise keep the process alive. */
export function obeyParent(obey: CommandEffects): () => void {
  const lines = createInterface({ input: process.stdin })
  const isCommand = (word: string): word is ProcessCommand => Object.hasOwn(obey, word)
  lines.on('line', (word) => {
    if (isCommand(word)) obey[word]()
  })
  lines.on('close', obey.drain)
  return () => {
    lines.off('close', obey.drain)
    lines.close()
    process.stdin.destroy()
  }
}
