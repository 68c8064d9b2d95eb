/**
 * The fields of a bug's alarm: the error's name and the places of its stack, never its message, which may quote a body, a header or a key. The compiled
 * binary carries its source map, so the places are those of the source. Rules: requests.md "What never leaks"; platform.md "Rejections".
 */

/** `code`: the error code of the system or of SQLite, such as `EACCES`. `at`: the innermost places first, `src/relay/relay.ts:53:11 < …`. */
export type Bug = Readonly<{ error: string; code?: string; at: string }>

const PLACES_MAX = 6
const PLACE = /^ +at (?:[^()]* \()?([\w@./: -]{1,300}?:\d+:\d+)\)?$/
const NAME = /^\w{1,64}$/
const CODE = /^[A-Z][A-Z0-9_]{1,63}$/

export function describeBug(bug: unknown): Bug {
  if (!(bug instanceof Error)) return { error: typeof bug, at: '' }
  const code = 'code' in bug && typeof bug.code === 'string' && CODE.test(bug.code) ? { code: bug.code } : {}
  return { error: NAME.test(bug.name) ? bug.name : 'Error', ...code, at: placesOf(bug).slice(0, PLACES_MAX).join(' < ') }
}

/** The stack opens with the message, and a message may look like a stack: no place is told unless the end of the message is certain. */
function placesOf({ stack = '', message }: Error): readonly string[] {
  const [name] = /^\w*/.exec(stack) ?? ['']
  const head = `${name}${message === '' ? '' : `: ${message}`}\n`
  if (!stack.startsWith(head)) return []
  return stack
    .slice(head.length)
    .split('\n')
    .flatMap((line) => PLACE.exec(line)?.[1] ?? [])
    .filter((place) => place.includes('/'))
    .map(fromProject)
}

/** Removes the folder that the program was built or started in. */
const fromProject = (place: string): string => place.replace(/^.*\/(?=(?:src|db|test|node_modules)\/)/, '')
