/** What the simulator says to a request: the blocks that its prompt, its tools and its directives ask for. Rules: native.md "Answer"; faults.md "Simulator". */

import type { JsonObject } from '../core/json.ts'
import type { Block, SimulatedAnswer } from './answer.ts'
import { jsonAnswer } from './json-answer.ts'
import { limitAnswer } from './limit-answer.ts'
import type { Prompt } from './prompt.ts'
import type { NativeRequest } from './request.ts'
import { sampleOf } from './schema-sample.ts'
import type { Seed } from './seed.ts'
import { announcement, closing, filler, greeting, help, missingTool, thoughts } from './sentences.ts'
import { callableTools, findTool, nameOf } from './tools.ts'

/** `turn` keeps the ids of tool calls apart: those of two requests, and those of one conversation. */
export function writeAnswer(request: NativeRequest, prompt: Prompt, seed: Seed, turn: string): SimulatedAnswer {
  const wanted = prompt.instructions.stopReason
  const blocks = [...thinkingBlocks(request, prompt, seed), ...contentBlocks(request, prompt, seed, turn)]
  const stopReason = blocks.some(({ kind }) => kind === 'tool_use') ? 'tool_use' : 'end_turn'
  const answer = limitAnswer({ blocks, stopReason, stopSequence: null }, request)
  if (wanted === undefined) return answer
  const hasWords = prompt.instructions.text !== undefined || prompt.instructions.tokens !== undefined
  return {
    blocks: wanted === 'refusal' && !hasWords ? [] : answer.blocks,
    stopReason: wanted,
    stopSequence: wanted === 'stop_sequence' ? (request.stopSequences[0] ?? 'STOP') : null,
  }
}

function thinkingBlocks(request: NativeRequest, prompt: Prompt, seed: Seed): readonly Block[] {
  if (request.thinking === 'none' && !prompt.instructions.isThinking) return []
  const text = thoughts(prompt)
  const signature = Buffer.from(`tollgate simulator ${seed.hash('signature', text)}`).toString('base64')
  return [{ kind: 'thinking', text, signature, isOmitted: request.thinking === 'omitted' }]
}

function contentBlocks(request: NativeRequest, prompt: Prompt, seed: Seed, turn: string): readonly Block[] {
  const { instructions } = prompt
  const isForced = isToolForced(request, prompt)
  const calls = isForced || instructions.calls.length > 0 ? toolCalls(request, prompt, isForced) : []
  const blocks = calls.map(
    ({ tool, args }, index): Block => ({
      kind: 'tool_use',
      id: `toolu_sim${seed.hash('tool', turn, index)}`,
      name: nameOf(tool),
      text: JSON.stringify(args),
      isWhole: true,
    }),
  )
  const said = words(request, prompt, seed)
  if (blocks.length === 0) return said === '' ? [] : [{ kind: 'text', text: said }]
  if (isForced) return blocks
  const hasWords = instructions.text !== undefined || instructions.tokens !== undefined
  return [{ kind: 'text', text: hasWords ? said : announcement(calls.map(({ tool }) => nameOf(tool))) }, ...blocks]
}

/** A forced choice that the turn's results already answer is not forced again: with a client that never withdraws the choice, the calls would never end. */
function isToolForced({ toolChoice, tools }: NativeRequest, { results }: Prompt): boolean {
  if (toolChoice.kind === 'any') return results.length === 0 && callableTools(tools).length > 0
  return toolChoice.kind === 'tool' && !results.some(({ tool }) => tool === toolChoice.name)
}

type ToolCall = Readonly<{ tool: JsonObject; args: unknown }>

/** The calls that the prompt's directives ask for, else the one that `tool_choice` forces. */
function toolCalls({ tools, toolChoice, isParallel }: NativeRequest, { instructions }: Prompt, isForced: boolean): readonly ToolCall[] {
  if (toolChoice.kind === 'none') return []
  const offered = callableTools(tools)
  const wanted = instructions.calls.length > 0 ? instructions.calls : [{ name: undefined, args: undefined }]
  const calls = wanted.flatMap(({ name, args }, index): readonly ToolCall[] => {
    const named = toolChoice.kind === 'tool' ? toolChoice.name : name
    const tool = named === undefined ? offered[index % offered.length] : findTool(tools, named)
    if (tool === undefined) return isForced && offered[0] !== undefined ? [{ tool: offered[0], args: argumentsOf(offered[0]) }] : []
    return [{ tool, args: args ?? argumentsOf(tool) }]
  })
  return isParallel ? calls : calls.slice(0, 1)
}

const argumentsOf = ({ input_schema: schema }: JsonObject): unknown => sampleOf({ type: 'object', ...Object(schema) })

function words(request: NativeRequest, prompt: Prompt, seed: Seed): string {
  const { text, tokens, unknown, wantsHelp, calls } = prompt.instructions
  if (unknown.length > 0 || wantsHelp) return help(unknown)
  if (text !== undefined) return text
  if (tokens !== undefined) return filler(tokens)
  const json = jsonAnswer(request, prompt)
  if (json !== undefined) return json
  const missing = calls.find(({ name }) => name !== undefined && findTool(request.tools, name) === undefined)?.name
  if (missing !== undefined && request.toolChoice.kind !== 'none') return missingTool(missing, request.tools.map(nameOf))
  if (prompt.results.length > 0) return closing(prompt.results)
  return greeting(prompt, seed.dice('greeting', prompt.text))
}
