/**
 * Commands from the parent of several processes to each of them: one a line over standard input. A command may arrive twice, or beside a signal to the whole
 * group, so it has the same effect each time. When standard input ends, the parent is gone and nothing would restart this process: it drains. Rules: operator.md
 * "Processes".
 */

import { createInterface } from 'node:readline'

/** `reload`: its line of the audit log was written by the process that asked for it. `reloadWithLine`: it has none yet. */
export type ReloadOrder = 'reload' | 'reloadWithLine'
export type ProcessCommand = 'drain' | 'hurry' | 'reload'
/** `lineAt`: the time of a reload whose line is to be written, by every process of the set that changes; undefined: there is a line. Unix milliseconds. */
export type CommandEffects = Readonly<Record<ProcessCommand, (lineAt?: number) => void>>

export const commandText = (command: ProcessCommand, lineAt?: number): string => (lineAt === undefined ? command : `${command} ${lineAt}`)

/** Returns a function that ends the reading, which would otherwise keep the process alive. */
export function obeyParent(obey: CommandEffects): () => void {
  const lines = createInterface({ input: process.stdin })
  const isCommand = (word: string): word is ProcessCommand => Object.hasOwn(obey, word)
  lines.on('line', (line) => {
    const [word = '', lineAt] = line.split(' ')
    if (isCommand(word)) obey[word](lineAt === undefined ? undefined : Number(lineAt))
  })
  lines.on('close', obey.drain)
  return () => {
    lines.off('close', obey.drain)
    lines.close()
    process.stdin.destroy()
  }
}
