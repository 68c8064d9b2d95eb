/** What the directives of a prompt ask for, as data. Rules: the list in `directives.ts`. */

import { isObject, type JsonObject } from '../core/json.ts'
import { CHAT_DIALECTS, type ChatDialectName } from './chat-dialects.ts'
import type { Directive } from './directives.ts'

export type Instructions = Readonly<{
  text: string | undefined
  tokens: number | undefined
  tokensPerSecond: number | undefined
  isThinking: boolean
  /** Undefined: the answer's own stop reason. */
  stopReason: string | null | undefined
  calls: readonly WantedCall[]
  /** The errors that come instead of an answer, in the order in which they were asked for. */
  refusals: readonly WantedRefusal[]
  waitMs: number
  /** Faults inside the answer. */
  faults: readonly Fault[]
  body: 'answer' | 'html' | 'empty'
  hasUsage: boolean
  /** The server of the chat format whose manner the answer has; undefined: none. */
  chatDialect: ChatDialectName | undefined
  wantsHelp: boolean
  /** Directives that the simulator does not know. */
  unknown: readonly string[]
}>

/** `name` undefined: the next of the offered tools. `args` undefined: the arguments are made from the schema. */
type WantedCall = Readonly<{ name: string | undefined; args: JsonObject | undefined }>

/** `timesMax`: how often the same prompt fails. */
export type WantedRefusal = Readonly<{
  kind: 'error' | 'tooLong'
  status: number
  message: string | undefined
  retryAfterSeconds: number | undefined
  timesMax: number
}>

/** `at`: the fault comes after that many deltas, or between the last `message_delta` and `message_stop`. `timesMax`: how often the same prompt meets it. */
export type Fault = Readonly<{ at: number | 'message_stop'; timesMax: number }> &
  (
    | Readonly<{ kind: 'error'; status: number; message: string | undefined }>
    | Readonly<{ kind: 'stall'; waitMs: number }>
    | Readonly<{ kind: 'cut' | 'reset' | 'malformed' }>
  )

type Draft = { -readonly [Field in keyof Instructions]: Instructions[Field] }
type Words = ReadonlyMap<string, unknown>

/** Where two directives contradict each other, the later one counts. */
export function readInstructions(directives: readonly Directive[]): Instructions {
  const draft: Draft = {
    text: undefined,
    tokens: undefined,
    tokensPerSecond: undefined,
    isThinking: false,
    stopReason: undefined,
    calls: [],
    refusals: [],
    waitMs: 0,
    faults: [],
    body: 'answer',
    hasUsage: true,
    chatDialect: undefined,
    wantsHelp: false,
    unknown: [],
  }
  for (const { source, words } of directives) {
    if (words === undefined || words.size === 0 || !readWords(draft, words)) draft.unknown = [...draft.unknown, source]
  }
  return draft
}

/** For each command, the words that may stand beside it in the same directive. */
const OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  tool: ['args'],
  tools: ['args'],
  error: ['after', 'before', 'message', 'retry_after', 'times'],
  toolong: ['times'],
  slow: ['ms'],
  stall: ['after', 'before', 'ms', 'times'],
  cut: ['after', 'before', 'times'],
  reset: ['after', 'before', 'times'],
  malformed: ['after', 'before', 'times'],
}
const OPTIONS = new Set(Object.values(OPTIONS_OF).flat())

/** False when a word would have no effect: the whole directive then counts as unknown. */
function readWords(draft: Draft, words: Words): boolean {
  const commands = [...words.keys()].filter((word) => !OPTIONS.has(word))
  const understood = new Set(commands.flatMap((command) => OPTIONS_OF[command] ?? []))
  // A fault inside an answer comes too late for a header.
  if (words.has('after') || words.has('before')) understood.delete('retry_after')
  if (commands.length === 0 || ![...words].every(([word, value]) => !OPTIONS.has(word) || (understood.has(word) && isOption(word, value))))
    return false
  return commands.every((command) => readWord(draft, command, words.get(command), words))
}

function isOption(word: string, value: unknown): boolean {
  if (word === 'args') return isObject(value)
  if (word === 'message') return typeof value === 'string'
  return word === 'before' ? value === 'message_stop' : count(value) !== undefined
}

/** False when the word is unknown or its value is not of its kind. */
function readWord(draft: Draft, word: string, value: unknown, words: Words): boolean {
  switch (word) {
    case 'say':
    case 'text':
      draft.text = typeof value === 'string' ? value : undefined
      return draft.text !== undefined
    case 'tokens':
      draft.tokens = count(value)
      return draft.tokens !== undefined
    case 'speed':
      draft.tokensPerSecond = count(value)
      return draft.tokensPerSecond !== undefined
    case 'stop':
      draft.stopReason = value === 'null' ? null : typeof value === 'string' ? value : undefined
      return draft.stopReason !== undefined
    case 'dialect':
      draft.chatDialect = CHAT_DIALECTS.find((name) => name === value)
      return draft.chatDialect !== undefined
    case 'tool':
    case 'tools':
      return readCalls(draft, word, value, words)
    case 'error':
      return readError(draft, value, words)
    default:
      return value === true && (readFlag(draft, word) || readFault(draft, word, words))
  }
}

function readFlag(draft: Draft, word: string): boolean {
  switch (word) {
    case 'thinking':
      draft.isThinking = true
      return true
    case 'html':
    case 'empty':
      draft.body = word
      return true
    case 'nousage':
      draft.hasUsage = false
      return true
    case 'help':
      draft.wantsHelp = true
      return true
    default:
      return false
  }
}

const CALLS_MAX = 32

function readCalls(draft: Draft, word: 'tool' | 'tools', value: unknown, words: Words): boolean {
  const args = words.get('args')
  if (args !== undefined && !isObject(args)) return false
  const calls = word === 'tools' ? count(value) : 1
  if (calls === undefined || calls > CALLS_MAX) return false
  const name = word === 'tool' && typeof value === 'string' ? value : undefined
  draft.calls = [...draft.calls, ...Array<WantedCall>(calls).fill({ name, args })]
  return true
}

function readError(draft: Draft, value: unknown, words: Words): boolean {
  const status = count(value)
  if (status === undefined || status < 400 || status > 599) return false
  const at = readPlace(words)
  const text = words.get('message')
  const message = typeof text === 'string' ? text : undefined
  if (at === undefined) draft.refusals = [...draft.refusals, { kind: 'error', status, message, ...repetition(words) }]
  else draft.faults = [...draft.faults, { kind: 'error', at, status, message, timesMax: timesMaxOf(words) }]
  return true
}

function readFault(draft: Draft, word: string, words: Words): boolean {
  const [at, timesMax] = [readPlace(words) ?? 1, timesMaxOf(words)]
  switch (word) {
    case 'toolong':
      draft.refusals = [...draft.refusals, { kind: 'tooLong', status: 400, message: undefined, ...repetition(words) }]
      return true
    case 'slow':
      draft.waitMs = count(words.get('ms')) ?? 1_000
      return true
    case 'stall':
      draft.faults = [...draft.faults, { kind: 'stall', at, timesMax, waitMs: count(words.get('ms')) ?? 5_000 }]
      return true
    case 'cut':
    case 'reset':
    case 'malformed':
      draft.faults = [...draft.faults, { kind: word, at, timesMax }]
      return true
    default:
      return false
  }
}

const readPlace = (words: Words): Fault['at'] | undefined =>
  words.get('before') === 'message_stop' ? 'message_stop' : count(words.get('after'))

const repetition = (words: Words): { retryAfterSeconds: number | undefined; timesMax: number } => ({
  retryAfterSeconds: count(words.get('retry_after')),
  timesMax: timesMaxOf(words),
})

const timesMaxOf = (words: Words): number => count(words.get('times')) ?? Number.POSITIVE_INFINITY

const count = (value: unknown): number | undefined => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : undefined)
