/** Which commands the program has, as its own help lists them. */

/** `words`: `keys create` as two; a group is one that only has members. */
export type Command = Readonly<{ words: readonly string[]; isGroup: boolean }>

type Run = (...argv: string[]) => Promise<Readonly<{ out: string }>>

/** Groups before their members. */
export async function commandsOf(run: Run, group: readonly string[] = []): Promise<readonly Command[]> {
  const { out } = await run(...group, '--help')
  const names = [...(out.split('Commands:\n')[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name)
  const found: Command[] = []
  for (const name of names.filter((word) => word !== 'help')) {
    const words = [...group, name]
    const members = await commandsOf(run, words)
    found.push({ words, isGroup: members.length > 0 }, ...members)
  }
  return found
}
