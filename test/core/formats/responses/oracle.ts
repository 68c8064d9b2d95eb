/**
 * The slow, obvious translation of a whole native stream, for comparison: every frame parsed, every event an object of the vendor's own types. Nothing is
 * shared with the transcoder but the rules (responses.md "Object", "Events", "Failures") and the billed usage.
 */

import type * as Vendor from 'openai/resources/responses/responses'
import { parseExact } from '../../../../src/core/bytes/exact-json.ts'
import type { Call, Stamp } from '../../../../src/core/format.ts'
import type { ResponsesEcho } from '../../../../src/core/formats/responses/wire.ts'
import { finalUsage, type Observation } from '../../../../src/core/native/observation.ts'

type NativeEvent = Record<string, unknown> & { type: string }

/** The vendor's response without its convenience field; `user` may be null (Open Responses), and cache writes have our detail. */
type Response = Omit<Vendor.Response, 'output_text' | 'user' | 'usage' | 'tool_choice' | 'metadata' | 'reasoning' | 'text'> & {
  usage: (Omit<Vendor.ResponseUsage, 'input_tokens_details'> & { input_tokens_details: Details }) | null
  [echoed: string]: unknown
}
type Details = Vendor.ResponseUsage.InputTokensDetails & { cache_write_1h_tokens?: number }

type WithResponse<Event> = Event extends { response: Vendor.Response } ? Omit<Event, 'response'> & { response: Response } : Event
type Keepalive = { type: 'keepalive'; sequence_number: number }
/** Every event of ours is one of the vendor's. `name` in the end of arguments is an addition that clients know. */
export type WireEvent =
  | WithResponse<Exclude<Vendor.ResponseStreamEvent, Vendor.ResponseFunctionCallArgumentsDoneEvent>>
  | (Vendor.ResponseFunctionCallArgumentsDoneEvent & { name: string })
  | Keepalive
type Unnumbered<Event> = Event extends { sequence_number: number } ? Omit<Event, 'sequence_number'> : never

type Open = {
  index: number
  blockIndex: number | undefined
  isStopped: boolean
  text: string
  signature: string
  item: Vendor.ResponseOutputItem
}

/** An `event:` line that names one of them wins over the data. */
const TYPES = 'message_start content_block_start content_block_delta content_block_stop message_delta message_stop ping error'.split(' ')

/** Frames to events, with the framing that the golden streams use. Stops where JSON does. */
export function nativeEvents(native: string): NativeEvent[] {
  const events: NativeEvent[] = []
  for (const frame of native
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n\n')) {
    const lines = frame.split('\n')
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''))
    const text = data.join('\n').trim()
    if (text === '' || text === '[DONE]') continue
    const named = lines.filter((line) => line.startsWith('event:')).map((line) => line.slice(6).trim())
    let event: unknown
    try {
      event = parseExact(text)
    } catch {
      break
    }
    if (typeof event !== 'object' || event === null || Array.isArray(event)) break
    const line = named[0] ?? ''
    events.push({ type: line, ...event, ...(TYPES.includes(line) ? { type: line } : {}) })
  }
  return events
}

/** `failure`: how the stream ends when it is not whole. */
export function translate(
  events: readonly NativeEvent[],
  seen: Observation,
  call: Call<ResponsesEcho>,
  stamp: Stamp,
  failure: { code: Vendor.ResponseError['code']; message: string } | undefined,
): WireEvent[] {
  const out: WireEvent[] = []
  const open: Open[] = []
  const done: [number, Vendor.ResponseOutputItem][] = []
  const blocks = new Map<number, Open | 'text' | 'ignored'>()
  let count = 0
  let message: Open | undefined
  let suffix: string | undefined

  const emit = (event: Unnumbered<WireEvent>): void => void out.push({ ...event, sequence_number: out.length } as WireEvent)
  const start = (id?: unknown): void => {
    if (suffix !== undefined) return
    suffix = typeof id === 'string' && id !== '' ? id.replace(/^msg_/, '') : stamp.requestId.slice(4)
    emit({ type: 'response.created', response: response('in_progress', [], null) })
    emit({ type: 'response.in_progress', response: response('in_progress', [], null) })
  }
  const response = (status: Vendor.ResponseStatus, output: Vendor.ResponseOutputItem[], usage: Response['usage']): Response => ({
    id: `resp_${suffix}`,
    object: 'response',
    created_at: stamp.createdSeconds,
    completed_at: null,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: call.model.id,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage,
    user: null,
    metadata: {},
    access_programs: null,
    frequency_penalty: 0,
    presence_penalty: 0,
  })
  const part = (text: string): Vendor.ResponseOutputText => ({ type: 'output_text', text, annotations: [], logprobs: [] })
  const opened = (item: (index: number, id: string) => Vendor.ResponseOutputItem, prefix: string, blockIndex?: number): Open => {
    start()
    const index = count++
    const entry: Open = { index, blockIndex, isStopped: false, text: '', signature: '', item: item(index, `${prefix}_${suffix}_${index}`) }
    emit({ type: 'response.output_item.added', output_index: index, item: structuredClone(entry.item) })
    open.push(entry)
    if (blockIndex !== undefined) blocks.set(blockIndex, entry)
    return entry
  }
  const openMessage = (): Open => {
    if (message !== undefined) return message
    message = opened((_, id) => ({ id, type: 'message', status: 'in_progress', role: 'assistant', content: [] }), 'msg')
    emit({ type: 'response.content_part.added', item_id: idOf(message), output_index: message.index, content_index: 0, part: part('') })
    return message
  }
  const openReasoning = (blockIndex: number): Open => {
    closeMessage()
    return opened((_, id) => ({ id, type: 'reasoning', summary: [], encrypted_content: null }), 'rs', blockIndex)
  }
  const addText = (entry: Open, delta: string): void => {
    if (delta === '') return
    const where = { item_id: idOf(entry), output_index: entry.index }
    const isFirst = entry.text === ''
    entry.text += delta
    switch (entry.item.type) {
      case 'message':
        emit({ type: 'response.output_text.delta', ...where, content_index: 0, delta, logprobs: [] })
        break
      case 'reasoning':
        if (isFirst) {
          emit({ type: 'response.reasoning_summary_part.added', ...where, summary_index: 0, part: { type: 'summary_text', text: '' } })
        }
        emit({ type: 'response.reasoning_summary_text.delta', ...where, summary_index: 0, delta })
        break
      case 'function_call':
        emit({ type: 'response.function_call_arguments.delta', ...where, delta })
        break
      default:
    }
  }
  const close = (entry: Open, status: 'completed' | 'incomplete'): void => {
    open.splice(open.indexOf(entry), 1)
    const { item, text } = entry
    const where = { item_id: idOf(entry), output_index: entry.index }
    switch (item.type) {
      case 'message':
        emit({ type: 'response.output_text.done', ...where, content_index: 0, text, logprobs: [] })
        emit({ type: 'response.content_part.done', ...where, content_index: 0, part: part(text) })
        item.content = [part(text)]
        item.status = status
        break
      case 'reasoning':
        if (text !== '') {
          emit({ type: 'response.reasoning_summary_text.done', ...where, summary_index: 0, text })
          emit({ type: 'response.reasoning_summary_part.done', ...where, summary_index: 0, part: { type: 'summary_text', text } })
          item.summary = [{ type: 'summary_text', text }]
        }
        if (entry.signature !== '') item.encrypted_content = envelope({ type: 'thinking', thinking: text, signature: entry.signature })
        break
      case 'function_call': {
        if (text === '') {
          entry.text = item.arguments === '' ? '{}' : item.arguments
          emit({ type: 'response.function_call_arguments.delta', ...where, delta: entry.text })
        }
        item.arguments = entry.text
        emit({ type: 'response.function_call_arguments.done', ...where, name: item.name, arguments: item.arguments })
        item.status = status
        break
      }
      case 'custom_tool_call': {
        const input = freeText(text === '' ? item.input : text)
        emit({ type: 'response.custom_tool_call_input.delta', ...where, delta: input })
        emit({ type: 'response.custom_tool_call_input.done', ...where, input })
        Object.assign(item, { input, status })
        break
      }
      default:
    }
    emit({ type: 'response.output_item.done', output_index: entry.index, item: structuredClone(item) })
    done.push([entry.index, item])
  }
  const closeMessage = (): void => {
    if (message !== undefined) close(message, 'completed')
    message = undefined
  }
  const envelope = (block: object): string =>
    Buffer.from(JSON.stringify({ v: 1, m: call.model.id, b: [block] }), 'utf8').toString('base64url')
  const freeText = (json: string): string => {
    try {
      const parsed = JSON.parse(json)
      return typeof parsed?.input === 'string' ? parsed.input : json
    } catch {
      return json
    }
  }
  const usedCallIds = new Set<string>()

  const startBlock = (index: number, block: Record<string, unknown>): void => {
    const before = blocks.get(index)
    if (typeof before === 'object') before.isStopped = true
    for (const entry of [...open]) if (entry.isStopped) close(entry, 'completed')
    switch (block['type']) {
      case 'text':
        blocks.set(index, 'text')
        addText(openMessage(), String(block['text'] ?? ''))
        break
      case 'thinking': {
        const entry = openReasoning(index)
        addText(entry, String(block['thinking'] ?? ''))
        entry.signature = String(block['signature'] ?? '')
        break
      }
      case 'redacted_thinking': {
        closeMessage()
        blocks.set(index, 'ignored')
        start()
        const outputIndex = count++
        const item: Vendor.ResponseReasoningItem = {
          id: `rs_${suffix}_${outputIndex}`,
          type: 'reasoning',
          summary: [],
          encrypted_content: null,
        }
        emit({ type: 'response.output_item.added', output_index: outputIndex, item })
        const whole = { ...item, encrypted_content: envelope({ type: 'redacted_thinking', data: block['data'] }) }
        emit({ type: 'response.output_item.done', output_index: outputIndex, item: whole })
        done.push([outputIndex, whole])
        break
      }
      case 'tool_use': {
        closeMessage()
        const known = call.echo.tools.get(String(block['name']))
        const name = known?.name ?? String(block['name'])
        const namespace = known?.namespace === undefined ? {} : { namespace: known.namespace }
        const callId = usedCallIds.has(String(block['id'])) ? undefined : String(block['id'])
        const input = Object.keys(block['input'] ?? {}).length === 0 ? '' : JSON.stringify(block['input'])
        const id = (at: number): string => callId ?? `call_${suffix}_${at}`
        const isCustom = known?.kind === 'custom'
        const entry = opened(
          (at, itemId) =>
            isCustom
              ? { id: itemId, type: 'custom_tool_call', status: 'in_progress', call_id: id(at), name, input: '', ...namespace }
              : { id: itemId, type: 'function_call', status: 'in_progress', call_id: id(at), name, arguments: '', ...namespace },
          isCustom ? 'ctc' : 'fc',
          index,
        )
        usedCallIds.add(id(entry.index))
        if (entry.item.type === 'function_call') entry.item.arguments = input
        if (entry.item.type === 'custom_tool_call') entry.item.input = input
        break
      }
      default:
        blocks.set(index, 'ignored')
    }
  }

  const addDelta = (index: number, delta: Record<string, unknown>): void => {
    const block = blocks.get(index)
    switch (delta['type']) {
      case 'text_delta':
        if ((block === undefined || block === 'text') && delta['text'] !== '') addText(openMessage(), String(delta['text']))
        break
      case 'thinking_delta':
        if (delta['thinking'] === '') break
        if (block === undefined) addText(openReasoning(index), String(delta['thinking']))
        else if (typeof block === 'object' && block.item.type === 'reasoning') addText(block, String(delta['thinking']))
        break
      case 'input_json_delta':
        if (typeof block !== 'object') break
        if (block.item.type === 'function_call') addText(block, String(delta['partial_json']))
        if (block.item.type === 'custom_tool_call') block.text += String(delta['partial_json'])
        break
      case 'signature_delta':
        if (typeof block === 'object' && block.item.type === 'reasoning') block.signature = String(delta['signature'])
        break
      default:
    }
  }

  for (const event of events) {
    if (event.type === 'message_stop' || event.type === 'error') break
    if (event.type === 'message_start') start((event['message'] as { id?: unknown }).id)
    if (event.type === 'content_block_start') startBlock(Number(event['index']), event['content_block'] as Record<string, unknown>)
    if (event.type === 'content_block_delta') addDelta(Number(event['index']), event['delta'] as Record<string, unknown>)
    if (event.type === 'content_block_stop') {
      const block = blocks.get(Number(event['index']))
      if (typeof block === 'object') block.isStopped = true
    }
  }
  start()
  const output = (): Vendor.ResponseOutputItem[] => done.sort(([a], [b]) => a - b).map(([, item]) => item)
  if (failure !== undefined) {
    emit({ type: 'response.failed', response: { ...response('failed', output(), null), error: failure } })
    return out
  }
  const reason = INCOMPLETE.get(String(seen.stopReason))
  for (const entry of [...open]) close(entry, reason !== undefined && entry.index === count - 1 ? 'incomplete' : 'completed')
  const whole = response(reason === undefined ? 'completed' : 'incomplete', output(), usageOf(seen, call))
  emit(
    reason === undefined
      ? { type: 'response.completed', response: whole }
      : { type: 'response.incomplete', response: { ...whole, incomplete_details: { reason } } },
  )
  return out
}

const INCOMPLETE: ReadonlyMap<string, 'max_output_tokens' | 'content_filter'> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['model_context_window_exceeded', 'max_output_tokens'],
  ['refusal', 'content_filter'],
])

const idOf = ({ item }: Open): string => String(item.id)

function usageOf(seen: Observation, call: Call<ResponsesEcho>): Response['usage'] {
  const { usage } = finalUsage(seen, call.bounds)
  const input = usage.input + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h
  const details: Details = { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h }
  return {
    input_tokens: input,
    input_tokens_details: usage.cacheWrite1h === 0 ? details : { ...details, cache_write_1h_tokens: usage.cacheWrite1h },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: Math.min(seen.reported.thinking ?? 0, usage.output) },
    total_tokens: input + usage.output,
  }
}
