/**
 * The language in which a prompt commands the simulator: `[sim word word=value …]`. This file holds the list that `[sim help]` and `docs/operate/simulator.md` show,
 * and the grammar; `instructions.ts` has what the words do. A value is a bare word, a JSON string, object or array; `say` takes everything up to the bracket.
 */

import { readBalancedJson } from './balanced-json.ts'
import { CHAT_DIALECTS } from './chat-dialects.ts'

export const DIRECTIVES: readonly { directive: string; effect: string }[] = [
  { directive: '[sim help]', effect: 'answers with this list' },
  { directive: '[sim say=Hello there]', effect: 'answers exactly this text' },
  { directive: '[sim text="Hello\\nthere"]', effect: 'answers exactly this text, written as a JSON string' },
  { directive: '[sim tokens=200]', effect: 'answers a text of that many tokens' },
  { directive: '[sim speed=20]', effect: 'streams that many tokens a second; 0 is as fast as it can be read' },
  { directive: '[sim thinking]', effect: 'thinks first, also when the request did not ask for it' },
  { directive: '[sim tool]', effect: 'calls the first tool, with arguments made from its schema' },
  { directive: '[sim tool=NAME]', effect: 'calls the tool of that name' },
  {
    directive: '[sim tool=NAME args={"path":"x"}]',
    effect: 'calls it with exactly these arguments; several directives make parallel calls',
  },
  { directive: '[sim tools=2]', effect: 'makes that many parallel calls' },
  { directive: '[sim stop=refusal]', effect: 'ends with that stop reason, whichever it is; `null` for none' },
  { directive: '[sim error=529]', effect: 'fails with that HTTP status before the answer; `message="…"` and `retry_after=5` are optional' },
  {
    directive: '[sim error=529 times=2]',
    effect: 'fails the first two times that this prompt is sent; every failure with `after=` may be limited so',
  },
  { directive: '[sim error=529 after=3]', effect: 'sends an error event after three deltas' },
  { directive: '[sim cut after=5]', effect: 'ends the stream after five deltas, without `message_stop`' },
  { directive: '[sim cut before=message_stop]', effect: 'leaves out only `message_stop`; every `after=` may be written so' },
  { directive: '[sim reset after=2]', effect: 'breaks the connection after two deltas' },
  { directive: '[sim stall ms=5000 after=2]', effect: 'falls silent for five seconds after two deltas, then goes on' },
  { directive: '[sim malformed after=2]', effect: 'sends one frame of broken JSON after two deltas' },
  { directive: '[sim slow ms=2000]', effect: 'waits two seconds before the first byte' },
  { directive: '[sim html]', effect: 'answers 200 with a web page' },
  { directive: '[sim empty]', effect: 'answers 200 without a body' },
  { directive: '[sim nousage]', effect: 'leaves all usage out' },
  {
    directive: '[sim dialect=kimi]',
    effect: `as a server of the chat format: speaks as that one does, one of ${CHAT_DIALECTS.join(', ')}`,
  },
  { directive: '[sim toolong]', effect: 'refuses the prompt as too long for the context window' },
]

/** One directive. A word without a value has the value `true`. `words` is undefined when the text between the brackets does not parse. */
export type Directive = Readonly<{ source: string; words: ReadonlyMap<string, unknown> | undefined }>

/** Further directives of a prompt count as text, and so does one with a longer value: reading directives stays cheap. */
const DIRECTIVES_MAX = 64

/** The directives of a text, in order, and the text without them. A bracket that never closes is text. */
export function findDirectives(text: string): { directives: readonly Directive[]; rest: string } {
  const directives: Directive[] = []
  let rest = ''
  let from = 0
  for (let at = text.search(OPENING); at !== -1 && directives.length < DIRECTIVES_MAX; at = nextOpening(text, from)) {
    const read = readDirective(text, at)
    if (read === undefined) break
    directives.push(read.directive)
    rest += text.slice(from, at)
    from = read.end
  }
  return { directives, rest: (rest + text.slice(from)).trim() }
}

const OPENING = /\[sim(?=[\s\]])/

function nextOpening(text: string, from: number): number {
  const at = text.slice(from).search(OPENING)
  return at === -1 ? -1 : from + at
}

function readDirective(text: string, start: number): { directive: Directive; end: number } | undefined {
  const words = new Map<string, unknown>()
  let at = start + '[sim'.length
  for (;;) {
    at = skipSpace(text, at)
    if (text[at] === ']') return { directive: { source: text.slice(start, at + 1), words }, end: at + 1 }
    const word = readWord(text, at)
    if (word === undefined) break
    words.set(word.name, word.value)
    at = word.end
  }
  const end = text.indexOf(']', at)
  if (end === -1) return undefined
  return { directive: { source: text.slice(start, end + 1), words: undefined }, end: end + 1 }
}

function readWord(text: string, start: number): { name: string; value: unknown; end: number } | undefined {
  NAME.lastIndex = start
  const name = NAME.exec(text)?.[0]
  if (name === undefined) return undefined
  const at = start + name.length
  if (text[at] !== '=') return { name, value: true, end: at }
  if ('"{['.includes(text[at + 1] ?? ' ')) {
    const found = readBalancedJson(text, at + 1)
    return found && { name, value: found.value, end: found.end }
  }
  const bare = name === 'say' ? TO_BRACKET : BARE
  bare.lastIndex = at + 1
  const value = bare.exec(text)?.[0]
  return value === undefined ? undefined : { name, value: value.trim(), end: at + 1 + value.length }
}

const NAME = /[a-z_]+/y
const BARE = /[^\s\]]+/y
const TO_BRACKET = /[^\]]+/y

function skipSpace(text: string, start: number): number {
  let at = start
  while (at < text.length && text.charCodeAt(at) <= 32) at++
  return at
}
