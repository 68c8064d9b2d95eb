/**
 * What the parent of several processes tells each of them, a word a line, over the standard input. A word can come twice, and beside a signal that the whole group got: the
 * end of a stream must not hang on who counts signals. Without a parent, however it ended, there is nobody who would begin this process anew: then it leaves. Rules:
 * operator.md "Processes".
 */

import { createInterface } from 'node:readline'

export type ProcessCommand = 'drain' | 'hurry' | 'reload'
export type CommandEffects = Readonly<Record<ProcessCommand, () => void>>

/** Gives what ends the reading, which would keep the process. */
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
