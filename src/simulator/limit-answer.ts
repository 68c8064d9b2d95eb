/** Cuts an answer at `max_tokens` and `stop_sequences`, and counts its tokens. Rules: contract.md "Messages request"; native.md "Answer". */

import type { Block, SimulatedAnswer } from './answer.ts'
import type { NativeRequest } from './request.ts'
import { firstTokens, tokensOf } from './tokens.ts'

/** Cuts the answer at the token limit, then at the first stop sequence in what is left of its texts. */
export function limitAnswer(answer: SimulatedAnswer, { maxTokens, stopSequences }: NativeRequest): SimulatedAnswer {
  const kept = cutAtTokens(answer, maxTokens)
  for (const [index, block] of kept.blocks.entries()) {
    if (block.kind !== 'text') continue
    const stop = firstStop(block.text, stopSequences)
    if (stop === undefined) continue
    const text = block.text.slice(0, stop.at)
    const blocks = [...kept.blocks.slice(0, index), ...(text === '' ? [] : [{ ...block, text }])]
    return { blocks, stopReason: 'stop_sequence', stopSequence: stop.sequence }
  }
  return kept
}

function cutAtTokens(answer: SimulatedAnswer, maxTokens: number): SimulatedAnswer {
  const blocks: Block[] = []
  let left = maxTokens
  for (const block of answer.blocks) {
    if (tokensOfAnswerBlock(block) <= left) {
      blocks.push(block)
      left -= tokensOfAnswerBlock(block)
      continue
    }
    const text = firstTokens(block.text, left)
    if (text !== '') blocks.push(block.kind === 'tool_use' ? { ...block, text, isWhole: false } : { ...block, text })
    return { blocks, stopReason: 'max_tokens', stopSequence: null }
  }
  return maxTokens === 0 ? { ...answer, stopReason: 'max_tokens' } : answer
}

/** The stop sequence that occurs first; the longer one where two begin at the same place. */
function firstStop(text: string, sequences: readonly string[]): { at: number; sequence: string } | undefined {
  return sequences
    .map((sequence) => ({ at: text.indexOf(sequence), sequence }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at || b.sequence.length - a.sequence.length)[0]
}

export type OutputTokens = Readonly<{ all: number; thinking: number }>

export function outputTokens(blocks: readonly Block[]): OutputTokens {
  const sum = (some: readonly Block[]): number => some.reduce((total, block) => total + tokensOfAnswerBlock(block), 0)
  return { all: sum(blocks), thinking: sum(blocks.filter(({ kind }) => kind === 'thinking')) }
}

const tokensOfAnswerBlock = ({ text }: Block): number => tokensOf(text)
