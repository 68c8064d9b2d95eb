/** Chat's finish reasons as native stop reasons. Rules: openai.md "Ends". */

export type Finished = Readonly<{ hasCalls: boolean; isDenial: boolean; stopSequence: string | undefined }>

/**
 * An answer that was cut short is told as such even when it has calls, since arguments that were cut off must not be run. Some servers end an answer with calls by `stop`, or use
 * reasons of their own; without a known reason, the content of the answer decides.
 */
export function nativeStopReason(finish: string | undefined, { hasCalls, isDenial, stopSequence }: Finished): string {
  if (finish === 'length') return 'max_tokens'
  if (finish === 'content_filter') return 'refusal'
  if (hasCalls) return 'tool_use'
  if (isDenial) return 'refusal'
  return stopSequence === undefined ? 'end_turn' : 'stop_sequence'
}
