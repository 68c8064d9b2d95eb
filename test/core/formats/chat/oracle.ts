/**
 * The slow and obvious way from a whole native stream to chat chunks: every frame parsed, every chunk an object, everything stringified. The transcoder must
 * say the same. Written from native.md "Frames" and chat.md "Chunks" alone; it shares only the arithmetic of usage with the code it checks.
 */

import { parseExact } from '../../../../src/core/bytes/exact-json.ts'
import type { Call, Stamp } from '../../../../src/core/format.ts'
import { finishReason } from '../../../../src/core/formats/chat/response.ts'
import { chatUsage } from '../../../../src/core/formats/chat/usage.ts'
import type { ChatEcho } from '../../../../src/core/formats/chat/wire.ts'
import { nothingSeen, observe } from '../../../../src/core/native/observation.ts'
import type { Json } from './chat-call.ts'

type Block = { type: string; position: number; called: Json; text: string; signature: string; data?: string; input: Json }

/** `frames`: the data of every chunk, in order. `end`: how the stream ended; a fault ends without finish chunk. */
export type OracleAnswer = Readonly<{ frames: readonly string[]; end: 'complete' | 'fault' }>

export function oracle(native: Uint8Array, call: Call<ChatEcho>, stamp: Stamp): OracleAnswer {
  const { echo } = call
  const frames: string[] = []
  const blocks = new Map<number, Block>()
  const seen = nothingSeen()
  let id: string | undefined
  let tools = 0

  const chunk = (choices: Json[], usage?: unknown): void => {
    const head = { id, object: 'chat.completion.chunk', created: stamp.createdSeconds, model: call.model.id, choices }
    frames.push(JSON.stringify(usage !== undefined ? { ...head, usage } : echo.includesUsageChunk ? { ...head, usage: null } : head))
  }
  const delta = (fields: Json): void => {
    start(undefined)
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: null }])
  }
  const start = (nativeId: unknown): void => {
    if (id !== undefined) return
    const source = typeof nativeId === 'string' && nativeId !== '' ? nativeId : stamp.requestId
    id = `chatcmpl-${source.startsWith('msg_') || source.startsWith('req_') ? source.slice(4) : source}`
    delta({ role: 'assistant', content: '' })
  }
  const argumentsDelta = (block: Block, text: string): void => {
    if (echo.isLegacy) delta({ function_call: { arguments: text } })
    else delta({ tool_calls: [{ index: block.position, function: { arguments: text } }] })
  }
  const open = (index: number, source: Json): void => {
    close(index)
    const block: Block = { type: source['type'], position: 0, called: source, text: '', signature: '', input: source['input'] ?? {} }
    if (block.type === 'text' && source['text']) delta({ content: source['text'] })
    if (block.type === 'thinking') {
      block.text = source['thinking'] ?? ''
      block.signature = source['signature'] ?? ''
      if (block.text) delta({ reasoning_content: block.text })
    }
    if (block.type === 'tool_use') {
      block.position = tools++
      if (echo.isLegacy && block.position > 0) return
      const { name } = source
      if (echo.isLegacy) delta({ function_call: { name, arguments: '' } })
      else if (echo.customTools.has(name))
        delta({ tool_calls: [{ index: block.position, id: source['id'], type: 'custom', custom: { name, input: '' } }] })
      else delta({ tool_calls: [{ index: block.position, id: source['id'], type: 'function', function: { name, arguments: '' } }] })
    }
    blocks.set(index, block)
  }
  const close = (index: number): void => {
    const block = blocks.get(index)
    blocks.delete(index)
    if (block?.type === 'thinking' && block.signature !== '')
      delta({ thinking_blocks: [{ type: 'thinking', thinking: block.text, signature: block.signature }] })
    if (block?.type === 'redacted_thinking') delta({ thinking_blocks: [{ type: 'redacted_thinking', data: block.called['data'] }] })
    if (block?.type !== 'tool_use') return
    const text = block.text === '' ? JSON.stringify(block.input) : block.text
    if (!echo.isLegacy && echo.customTools.has(block.called['name']))
      delta({ tool_calls: [{ index: block.position, custom: { input: freeText(text) } }] })
    else if (block.text === '') argumentsDelta(block, text)
  }
  const continued = (index: number, piece: Json): void => {
    const block = blocks.get(index)
    const said = { text_delta: 'text', thinking_delta: 'thinking', input_json_delta: 'partial_json' }[String(piece['type'])]
    if (said !== undefined) seen.contentBytes += Buffer.byteLength(JSON.stringify(piece[said])) - 2
    if (piece['type'] === 'text_delta' && piece['text'] !== '') delta({ content: piece['text'] })
    if (piece['type'] === 'thinking_delta') {
      if (block?.type === 'thinking') block.text += piece['thinking']
      if (piece['thinking'] !== '') delta({ reasoning_content: piece['thinking'] })
    }
    if (piece['type'] === 'signature_delta' && block?.type === 'thinking') block.signature += piece['signature']
    if (piece['type'] !== 'input_json_delta' || block?.type !== 'tool_use' || piece['partial_json'] === '') return
    block.text += piece['partial_json']
    if (echo.isLegacy || !echo.customTools.has(block.called['name'])) argumentsDelta(block, piece['partial_json'])
  }
  const finish = (): OracleAnswer => {
    start(undefined)
    for (const index of [...blocks.keys()]) close(index)
    const reason = finishReason(seen.stopReason, tools > 0, echo.isLegacy)
    const usage = chatUsage(seen, call)
    chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: reason }], echo.includesUsageChunk ? null : usage)
    if (echo.includesUsageChunk) chunk([], usage)
    frames.push('[DONE]')
    return { frames, end: 'complete' }
  }

  for (const data of eventsOf(new TextDecoder().decode(native))) {
    const event = objectOf(data)
    if (event === undefined) return { frames, end: 'fault' }
    observe(seen, { type: event['type'], body: event })
    if (event['type'] === 'error') return { frames, end: 'fault' }
    if (event['type'] === 'message_start') start(event['message']?.id)
    if (event['type'] === 'content_block_start') open(event['index'], (parseExact(data) as Json)['content_block'])
    if (event['type'] === 'content_block_delta') continued(event['index'], event['delta'])
    if (event['type'] === 'content_block_stop') close(event['index'])
    if (event['type'] === 'message_stop') return finish()
  }
  return seen.stopReason === undefined ? { frames, end: 'fault' } : finish()
}

/** The data of every event, in order; of an event that the end of the stream leaves open only when it ends the answer. */
function eventsOf(text: string): string[] {
  const found: string[] = []
  let data: string[] = []
  let name = ''
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)
  const add = (): void => {
    const joined = data.join('\n')
    if (joined.trim() !== '' && joined.trim() !== '[DONE]') found.push(withType(joined, name))
    data = []
    name = ''
  }
  for (const line of lines) {
    if (line === '') add()
    else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    else if (line === 'data') data.push('')
    else if (line.startsWith('event:')) name = line.slice(6).trim()
  }
  const open = objectOf(data.join('\n'))
  if (open !== undefined && ['message_delta', 'message_stop', 'error'].includes(open['type'])) add()
  return found
}

function withType(data: string, type: string): string {
  const event = objectOf(data)
  const told = TYPES.includes(type) ? type : (event?.['type'] ?? type)
  return event === undefined || event['type'] === told ? data : JSON.stringify({ ...event, type: told })
}

/** An `event:` line that names one of them wins over the data. */
const TYPES = 'message_start content_block_start content_block_delta content_block_stop message_delta message_stop ping error'.split(' ')

function objectOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function freeText(argumentText: string): string {
  const input = objectOf(argumentText)?.['input']
  return typeof input === 'string' ? input : argumentText
}
