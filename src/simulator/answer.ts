/** The script of an answer: its blocks and why it stops, before a byte of it is sent. Rules: native.md "Answer". */

export type Block =
  | Readonly<{ kind: 'text'; text: string }>
  /** `isOmitted`: the thinking is billed, but only its signature is shown. */
  | Readonly<{ kind: 'thinking'; text: string; signature: string; isOmitted: boolean }>
  /** `text` is the JSON of the arguments; `isWhole` is false when the token limit cut it. */
  | Readonly<{ kind: 'tool_use'; id: string; name: string; text: string; isWhole: boolean }>

export type SimulatedAnswer = Readonly<{
  blocks: readonly Block[]
  stopReason: string | null
  stopSequence: string | null
}>
