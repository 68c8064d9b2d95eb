/**
 * Builds native turns from a client's messages or items: same-role neighbours become one turn, tool results come first in theirs, every call is paired
 * with exactly one result, nothing empty remains. Rules: native.md "What native refuses"; translation.md "Turns".
 */

import {
  append,
  type Block,
  blocksOf,
  type CacheControl,
  isBlank,
  marked,
  type Turn,
  textBlock,
  withoutBlankText,
} from '../../native/shapes.ts'
import { invalid, Refusal } from '../../refusal.ts'
import { type Arguments, InputMaker } from './arguments.ts'
import { type CallReference, OpenToolCalls, ToolIds } from './tool-calls.ts'

/** A call as the client's history has it. `rawId` is '' when the call has no id; `path` names the message or item in a refusal. */
export type ToolCall = Readonly<{
  rawId: string
  name: string
  input: Arguments
  path: () => string
  cacheControl?: CacheControl | undefined
}>

/** The result of a call. `path` names the field that refers to the call. `content`: a string, or text, image and document blocks. */
export type ToolResult = Readonly<{
  answers: CallReference
  content: string | readonly Block[]
  isError: boolean
  path: () => string
  cacheControl?: CacheControl | undefined
}>

type OpenTurn = { readonly role: 'user' | 'assistant'; content: string | Block[] }

export class Conversation {
  readonly #turns: OpenTurn[] = []
  /** Tool results by their user turn. They go before the turn's content once all messages are read. */
  readonly #resultsOf = new Map<OpenTurn, Block[]>()
  readonly #ids = new ToolIds()
  readonly #inputs = new InputMaker()
  /** Calls of the latest assistant turn: only the user turn right after it may answer them. */
  #calls = new OpenToolCalls()
  #problem: Refusal | undefined

  /** Adds a message of one text. */
  addText(role: 'user' | 'assistant', text: string): void {
    if (isBlank(text)) return
    const turn = this.#current(role)
    if (turn === undefined) this.#begin(role, text)
    else blocksIn(turn).push(textBlock(text))
  }

  /** Adds a user message's blocks. Blank text is dropped; where nothing is left, nothing is added. */
  addUser(blocks: readonly Block[]): void {
    const kept = withoutBlankText(blocks)
    if (kept.length > 0) append(this.#blocks('user'), kept)
  }

  /** Adds an assistant message's blocks (text, thinking), without its tool calls. Blank text is dropped; where nothing is left, nothing is added. */
  addAssistant(blocks: readonly Block[]): void {
    const kept = withoutBlankText(blocks)
    if (kept.length > 0) append(this.#blocks('assistant'), kept)
  }

  addToolCall(call: ToolCall): void {
    const blocks = this.#blocks('assistant')
    const { rawId, name, path, input, cacheControl } = call
    const id = this.#ids.assign(rawId === '' ? `call_${this.#turns.length}_${this.#calls.count}` : rawId)
    this.#calls.add({ rawId, name, id, path, resultIndex: undefined })
    blocks.push(marked({ type: 'tool_use', id, name, input: this.#inputs.input(input) }, cacheControl))
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
    for (const [turn, results] of this.#resultsOf) turn.content = [...results, ...blocksOf(turn.content)]
    const turns: readonly Turn[] = this.#turns
    const first = turns[0]
    if (first === undefined) return new Refusal('invalidRequest', { message: `${path}: at least one message with content is required` })
    return first.role === 'assistant' && needsUserFirst ? [{ role: 'user', content: [textBlock('.')] }, ...turns] : turns
  }

  #blocks(role: OpenTurn['role']): Block[] {
    return blocksIn(this.#current(role) ?? this.#begin(role, []))
  }

  /** The last turn where it has this role, so that more content joins it; undefined where a new turn begins. Before a user turn, an assistant turn of thinking alone is removed. */
  #current(role: OpenTurn['role']): OpenTurn | undefined {
    const last = this.#turns.at(-1)
    if (last === undefined || last.role === role) return last
    if (role === 'assistant' || !isThinkingOnly(last)) return undefined
    this.#turns.pop()
    return this.#current(role)
  }

  #begin(role: OpenTurn['role'], content: OpenTurn['content']): OpenTurn {
    if (role === 'assistant' && this.#calls.count > 0) {
      this.#requireResults()
      this.#calls = new OpenToolCalls()
    }
    const turn: OpenTurn = { role, content }
    this.#turns.push(turn)
    return turn
  }

  #results(): Block[] {
    const turn = this.#current('user') ?? this.#begin('user', [])
    const known = this.#resultsOf.get(turn)
    if (known !== undefined) return known
    const results: Block[] = []
    this.#resultsOf.set(turn, results)
    return results
  }

  #requireResults(): void {
    const open = this.#calls.firstUnanswered()
    if (open !== undefined)
      this.#problem ??= invalid(open.path(), `tool call "${(open.rawId || open.name).slice(0, ID_LENGTH_SHOWN_MAX)}" has no result`)
  }

  /** Trims an assistant turn that ends the conversation: it must not end with whitespace, and must not be empty. */
  #trimEnd(): void {
    const turn = this.#turns.at(-1)
    if (turn?.role !== 'assistant') return
    if (typeof turn.content === 'string') {
      turn.content = turn.content.trimEnd()
      return
    }
    const last = turn.content.at(-1)
    if (last?.type === 'text') turn.content[turn.content.length - 1] = { ...last, text: String(last['text']).trimEnd() }
    if (isThinkingOnly(turn)) this.#turns.pop()
  }
}

/** The turn's content as an array of blocks, to which more can be added. */
function blocksIn(turn: OpenTurn): Block[] {
  if (typeof turn.content === 'string') turn.content = [textBlock(turn.content)]
  return turn.content
}

const ID_LENGTH_SHOWN_MAX = 100

function resultBlock(id: string, { content, isError, cacheControl }: ToolResult): Block {
  const kept = typeof content === 'string' ? (isBlank(content) ? '' : content) : withoutBlankText(content)
  const type = 'tool_result'
  const block: Block = kept.length === 0 ? { type, tool_use_id: id } : { type, tool_use_id: id, content: kept }
  return marked(isError ? { ...block, is_error: true } : block, cacheControl)
}

/** For nearly every turn the first block already decides this. */
const isThinkingOnly = ({ content }: OpenTurn): boolean =>
  typeof content !== 'string' && (content[0] === undefined || isThinking(content[0])) && content.every(isThinking)

const isThinking = (block: Block): boolean => block.type === 'thinking' || block.type === 'redacted_thinking'

/**
 * True when manual thinking would be refused: the conversation ends with an assistant turn, or in tool results whose assistant turn does not begin with its
 * thinking.
 */
export function forbidsManualThinking(turns: readonly Turn[]): boolean {
  const last = turns.at(-1)
  if (last?.role === 'assistant') return !startsWithThinking(last)
  const before = turns.at(-2)
  return isResult(last?.content[0]) && before !== undefined && !startsWithThinking(before)
}

const isResult = (first: Turn['content'][number] | undefined): boolean => typeof first === 'object' && first.type === 'tool_result'

const startsWithThinking = ({ content: [first] }: Turn): boolean => typeof first === 'object' && isThinking(first)
