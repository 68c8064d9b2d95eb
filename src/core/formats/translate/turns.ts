/**
 * Builds native turns from a client's messages or items: same-role neighbours become one turn, tool results come first in theirs, every call is paired
 * with exactly one result, nothing empty remains. Rules: native.md "What native refuses"; translation.md "Turns".
 */

import { append, type Block, type CacheControl, isBlank, marked, type Turn, textBlock, withoutBlankText } from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { type Arguments, InputMaker } from './arguments.ts'
import { type CallReference, OpenToolCalls, ToolIds } from './tool-calls.ts'

/** A call as the client's history has it. `rawId` '' when it has none; `path` names the message or item in a refusal. */
export type ToolCall = Readonly<{
  rawId: string
  name: string
  input: Arguments
  path: () => string
  cacheControl?: CacheControl | undefined
}>

/** A result. `path` names the field that holds what it answers. Content: a string, or text, image and document blocks. */
export type ToolResult = Readonly<{
  answers: CallReference
  content: string | readonly Block[]
  isError: boolean
  path: () => string
  cacheControl?: CacheControl | undefined
}>

/** `results` go before the content when all is read. */
type OpenTurn = { readonly role: 'user' | 'assistant'; readonly content: Block[]; readonly results: Block[] | undefined }

export class Conversation {
  readonly #turns: OpenTurn[] = []
  readonly #ids = new ToolIds()
  readonly #inputs = new InputMaker()
  /** Calls of the latest assistant turn: only the user turn right after it may answer them. */
  #calls = new OpenToolCalls()
  #problem: Refusal | undefined

  /** Adds a message of one text. */
  addText(role: 'user' | 'assistant', text: string): void {
    if (!isBlank(text)) this.#turn(role).content.push(textBlock(text))
  }

  /** Adds a user message's blocks. Blank text is dropped; nothing left adds nothing. */
  addUser(blocks: readonly Block[]): void {
    const kept = withoutBlankText(blocks)
    if (kept.length > 0) append(this.#turn('user').content, kept)
  }

  /** Adds an assistant message's blocks (text, thinking), without its tool calls. Blank text is dropped; nothing left adds nothing. */
  addAssistant(blocks: readonly Block[]): void {
    const kept = withoutBlankText(blocks)
    if (kept.length > 0) append(this.#turn('assistant').content, kept)
  }

  addToolCall(call: ToolCall): void {
    const turn = this.#turn('assistant')
    const { rawId, name, path, input, cacheControl } = call
    const id = this.#ids.assign(rawId === '' ? `call_${this.#turns.length}_${this.#calls.count}` : rawId)
    this.#calls.add({ rawId, name, id, path, resultIndex: undefined })
    turn.content.push(marked({ type: 'tool_use', id, name, input: this.#inputs.input(input) }, cacheControl))
  }

  /** A second result of one call replaces the first. A result that answers no call of the latest assistant turn refuses the request. */
  addToolResult(result: ToolResult): void {
    const call = this.#calls.find(result.answers)
    if (call === undefined) {
      this.#problem ??= invalid(result.path(), 'no matching tool call')
      return
    }
    const results = this.#results()
    call.resultIndex ??= results.length
    results[call.resultIndex] = resultBlock(call.id, result)
  }

  /** The finished turns, or the first refusal. `needsUserFirst`: the model rejects a conversation that an assistant turn opens. */
  end(needsUserFirst: boolean, path: string): readonly Turn[] | Refusal {
    this.#requireResults()
    if (this.#problem !== undefined) return this.#problem
    this.#trimEnd()
    const turns = this.#turns.map(
      (turn): Turn => (turn.results === undefined ? turn : { role: 'user', content: [...turn.results, ...turn.content] }),
    )
    const first = turns[0]
    if (first === undefined) return new Refusal('invalidRequest', { message: `${path}: at least one message with content is required` })
    return first.role === 'assistant' && needsUserFirst ? [{ role: 'user', content: [textBlock('.')] }, ...turns] : turns
  }

  #turn(role: 'user' | 'assistant'): OpenTurn {
    const last = this.#turns.at(-1)
    if (last?.role === role) return last
    if (role === 'user' && last !== undefined && isThinkingOnly(last)) {
      this.#turns.pop()
      return this.#turn('user')
    }
    if (role === 'assistant') {
      this.#requireResults()
      if (this.#calls.count > 0) this.#calls = new OpenToolCalls()
    }
    const turn: OpenTurn = { role, content: [], results: undefined }
    this.#turns.push(turn)
    return turn
  }

  #results(): Block[] {
    const turn = this.#turn('user')
    if (turn.results !== undefined) return turn.results
    const results: Block[] = []
    this.#turns[this.#turns.length - 1] = { ...turn, results }
    return results
  }

  #requireResults(): void {
    const open = this.#calls.firstUnanswered()
    if (open !== undefined)
      this.#problem ??= invalid(open.path(), `tool call "${(open.rawId || open.name).slice(0, ID_LENGTH_SHOWN_MAX)}" has no result`)
  }

  /** An assistant turn that ends the conversation must not end with whitespace and must say something. */
  #trimEnd(): void {
    const turn = this.#turns.at(-1)
    if (turn?.role !== 'assistant') return
    const last = turn.content.at(-1)
    if (last?.type === 'text') turn.content[turn.content.length - 1] = { ...last, text: String(last['text']).trimEnd() }
    if (isThinkingOnly(turn)) this.#turns.pop()
  }
}

const ID_LENGTH_SHOWN_MAX = 100

function resultBlock(id: string, { content, isError, cacheControl }: ToolResult): Block {
  const kept = typeof content === 'string' ? (isBlank(content) ? '' : content) : withoutBlankText(content)
  const result = { type: 'tool_result', tool_use_id: id }
  const block: Block = kept.length === 0 ? result : { ...result, content: kept }
  return marked(isError ? { ...block, is_error: true } : block, cacheControl)
}

/** The first block tells it of nearly every turn. */
const isThinkingOnly = ({ content }: OpenTurn): boolean => (content[0] === undefined || isThinking(content[0])) && content.every(isThinking)

const isThinking = (block: Block): boolean => block.type === 'thinking' || block.type === 'redacted_thinking'

/**
 * True when manual thinking would be refused: the conversation ends with an assistant turn, or in tool results whose assistant turn does not begin with its
 * thinking.
 */
export function forbidsManualThinking(turns: readonly Turn[]): boolean {
  const last = turns.at(-1)
  if (last?.role === 'assistant') return !startsWithThinking(last)
  const before = turns.at(-2)
  return last?.content[0]?.type === 'tool_result' && before !== undefined && !startsWithThinking(before)
}

const startsWithThinking = ({ content }: Turn): boolean => content[0] !== undefined && isThinking(content[0])
