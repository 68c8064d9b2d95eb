/** An answer as the steps of its stream, with the faults that the prompt asked for put between them. Rules: native.md "Stream"; faults.md "Simulator". */

import type { Block, SimulatedAnswer } from './answer.ts'
import {
  blockDelta,
  blockStart,
  blockStop,
  frame,
  MESSAGE_STOP,
  type MessageHead,
  messageDelta,
  messageStart,
  PING,
  signatureDelta,
} from './frames.ts'
import type { Fault } from './instructions.ts'
import { errorBody } from './native-error.ts'
import type { Dice } from './seed.ts'
import { tokensOfBytes } from './tokens.ts'

export type Step =
  /** `tokens`: the tokens that producing the bytes takes; `place`: the kind of event that they belong to. */
  | Readonly<{ kind: 'bytes'; text: string; tokens: number; place: StepKind }>
  | Readonly<{ kind: 'wait'; waitMs: number }>
  /** The body ends, or breaks. */
  | Readonly<{ kind: 'end' | 'reset' }>

type StepKind = 'start' | 'delta' | 'message_delta' | 'message_stop' | 'other'

const DELTAS_PER_PING = 50

export function* answerSteps(head: MessageHead, answer: SimulatedAnswer, dice: Dice): Generator<Step> {
  yield bytes(messageStart(head), 'start')
  let deltas = 0
  for (const [index, block] of answer.blocks.entries()) {
    yield bytes(blockStart(index, block) + (index === 0 ? PING : ''), 'other')
    for (const step of blockSteps(index, block, dice)) {
      yield step
      if (++deltas % DELTAS_PER_PING === 0) yield bytes(PING, 'other')
    }
    yield bytes(blockStop(index), 'other')
  }
  yield bytes(messageDelta(head, answer), 'message_delta')
  yield bytes(MESSAGE_STOP, 'message_stop')
}

function* blockSteps(index: number, block: Block, dice: Dice): Generator<Step> {
  const isHidden = block.kind === 'thinking' && block.isOmitted
  let size = 0
  for (const piece of cutIntoPieces(block, dice)) {
    const before = tokensOfBytes(size)
    size += Buffer.byteLength(piece)
    const tokens = tokensOfBytes(size) - before
    // Thinking takes its time even when it is not shown.
    yield isHidden
      ? { kind: 'bytes', text: '', tokens, place: 'other' }
      : { kind: 'bytes', text: blockDelta(index, block.kind, piece), tokens, place: 'delta' }
  }
  if (block.kind === 'thinking') yield bytes(signatureDelta(index, block.signature), 'delta')
}

const WORDS_MAX = 4
const JSON_CHARACTERS_MAX = 16

/**
 * Cuts a block's text into the pieces that its deltas carry: a few words of prose, a few characters of JSON, as a native upstream does. Joined, the pieces are
 * the text. A tool call starts with an empty piece.
 */
function cutIntoPieces({ kind, text }: Block, dice: Dice): readonly string[] {
  if (kind === 'tool_use') return ['', ...grouped([...text], JSON_CHARACTERS_MAX, dice)]
  return grouped(text.match(WORD) ?? [], WORDS_MAX, dice)
}

/** A word with the space before it; long runs without a space are cut. */
const WORD = /\s*\S{1,24}|\s+/gu

function grouped(parts: readonly string[], sizeMax: number, dice: Dice): readonly string[] {
  const pieces: string[] = []
  for (let at = 0; at < parts.length; ) {
    const size = 1 + dice(sizeMax)
    pieces.push(parts.slice(at, at + size).join(''))
    at += size
  }
  return pieces
}

const bytes = (text: string, place: StepKind): Step => ({ kind: 'bytes', text, tokens: 0, place })

/** The first half of a body that never becomes whole. */
export function* brokenSteps(body: string, isReset: boolean): Generator<Step> {
  yield bytes(body.slice(0, Math.ceil(body.length / 2)), 'other')
  yield* isReset ? RESET : CUT
}

/** A fault that waits for more deltas than the answer has comes after the last delta. */
export function* faultySteps(steps: Iterable<Step>, faults: readonly Fault[], requestId: string): Generator<Step> {
  let waiting = [...faults]
  let deltas = 0
  for (const step of steps) {
    if (step.kind === 'bytes' && step.place !== 'start') {
      const isDue = ({ at }: Fault): boolean => (at === 'message_stop' ? step.place === at : at <= deltas || step.place === 'message_delta')
      for (const fault of waiting.filter(isDue)) {
        yield* faultSteps(fault, requestId)
        if (ENDS.has(fault.kind)) return
      }
      waiting = waiting.filter((fault) => !isDue(fault))
      if (step.place === 'delta') deltas++
    }
    yield step
  }
}

const ENDS: ReadonlySet<Fault['kind']> = new Set(['error', 'cut', 'reset'])

function* faultSteps(fault: Fault, requestId: string): Generator<Step> {
  switch (fault.kind) {
    case 'error':
      yield bytes(frame('error', errorBody(fault.status, fault.message, requestId)), 'other')
      return
    case 'stall':
      yield { kind: 'wait', waitMs: fault.waitMs }
      return
    case 'malformed':
      yield bytes(BROKEN_FRAME, 'other')
      return
    case 'cut':
      yield* CUT
      return
    case 'reset':
      yield* RESET
  }
}

const CUT: readonly Step[] = [{ kind: 'end' }]
/** The wait comes first: a connection that is reset at once loses bytes that are not yet on the wire. */
const RESET: readonly Step[] = [{ kind: 'wait', waitMs: 10 }, { kind: 'reset' }]

const BROKEN_FRAME = 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","te\n\n'
