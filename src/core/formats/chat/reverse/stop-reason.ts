/** Chat's finish reasons as native stop reasons. Rules: openai.md "Ends". */

export type Finished = Readonly<{ hasCalls: boolean; isDenial: boolean; stopSequence: string | undefined }>

/**
 * What was cut short wins over calls, since arguments that were cut off must not be run. Servers end with `stop` behind calls, and with words of their own; a
 * stream that never said why it ended is taken by what it had said.
 */
export function nativeStopReason(finish: string | undefined, { hasCalls, isDenial, stopSequence }: Finished): string {
  if (finish === 'length') return 'max_tokens'
  if (finish === 'content_filter') return 'refusal'
  if (hasCalls) return 'tool_use'
  if (isDenial) return 'refusal'
  return stopSequence === undefined ? 'end_turn' : 'stop_sequence'
}
