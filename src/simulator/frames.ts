/** Native shapes, letter by letter: the message, its blocks, and the frames of a stream. Rules: native.md "Answer", "Stream", "Usage". */

import type { Block, SimulatedAnswer } from './answer.ts'
import type { InputTokens } from './cache.ts'
import type { OutputTokens } from './limit-answer.ts'

/** `usage` undefined: the answer has no usage anywhere. */
export type MessageHead = Readonly<{ id: string; model: string; usage: Readonly<{ input: InputTokens; output: OutputTokens }> | undefined }>

type Fields = Readonly<Record<string, unknown>>

export const frame = (type: string, fields: Fields): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

export const PING = frame('ping', {})

export const blockStart = (index: number, block: Block): string => frame('content_block_start', { index, content_block: emptyBlock(block) })

export const blockStop = (index: number): string => frame('content_block_stop', { index })

/** `piece`: a piece of the block's text; for a tool call, a piece of its JSON. */
export const blockDelta = (index: number, kind: Block['kind'], piece: string): string =>
  frame('content_block_delta', { index, delta: deltaOf(kind, piece) })

export const signatureDelta = (index: number, signature: string): string =>
  frame('content_block_delta', { index, delta: { type: 'signature_delta', signature } })

export function messageStart({ id, model, usage }: MessageHead): string {
  const message = { model, id, type: 'message', role: 'assistant', content: [], stop_reason: null, stop_sequence: null }
  if (usage === undefined) return frame('message_start', { message })
  const { input, output } = usage
  const counted = {
    ...inputUsage(input),
    cache_creation: cacheCreation(input),
    output_tokens: Math.min(1, output.all),
    service_tier: 'standard',
  }
  return frame('message_start', { message: { ...message, usage: counted } })
}

export function messageDelta({ usage }: MessageHead, { stopReason, stopSequence }: SimulatedAnswer): string {
  const delta = { stop_reason: stopReason, stop_sequence: stopSequence }
  if (usage === undefined) return frame('message_delta', { delta })
  return frame('message_delta', { delta, usage: { ...inputUsage(usage.input), ...outputUsage(usage.output) } })
}

export const MESSAGE_STOP = frame('message_stop', {})

/** The answer to a request without `stream`. */
export function wholeMessage({ id, model, usage }: MessageHead, { blocks, stopReason, stopSequence }: SimulatedAnswer): Fields {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks.map(wholeBlock),
    stop_reason: stopReason,
    stop_sequence: stopSequence,
  }
  if (usage === undefined) return message
  const { input, output } = usage
  return {
    ...message,
    usage: {
      ...inputUsage(input),
      cache_creation: cacheCreation(input),
      ...outputUsage(output),
      server_tool_use: null,
      service_tier: 'standard',
    },
  }
}

const inputUsage = ({ fresh, read, written5m, written1h }: InputTokens): Fields => ({
  input_tokens: fresh,
  cache_creation_input_tokens: written5m + written1h,
  cache_read_input_tokens: read,
})

const cacheCreation = ({ written5m, written1h }: InputTokens): Fields => ({
  ephemeral_5m_input_tokens: written5m,
  ephemeral_1h_input_tokens: written1h,
})

const outputUsage = ({ all, thinking }: OutputTokens): Fields => ({
  output_tokens: all,
  output_tokens_details: { thinking_tokens: thinking },
})

function emptyBlock(block: Block): Fields {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: '' }
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} }
  }
}

function wholeBlock(block: Block): Fields {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: block.text }
    case 'thinking':
      return { type: 'thinking', thinking: block.isOmitted ? '' : block.text, signature: block.signature }
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.isWhole ? JSON.parse(block.text) : {} }
  }
}

function deltaOf(kind: Block['kind'], piece: string): Fields {
  switch (kind) {
    case 'text':
      return { type: 'text_delta', text: piece }
    case 'thinking':
      return { type: 'thinking_delta', thinking: piece }
    case 'tool_use':
      return { type: 'input_json_delta', partial_json: piece }
  }
}
