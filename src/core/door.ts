/** The doors behind which models are sold, and what a configuration says of each. Rules: doors.md "Kinds". */

import type { ChatDialect } from './chat-dialect.ts'

export const KINDS = ['native', 'claude-aws', 'foundry', 'openai'] as const
export type Kind = (typeof KINDS)[number]

/** What a door needs to know beside its address and its key. `workspace`: the one that answers for our requests. */
export type DoorSettings = Readonly<{ kind: 'native' } | { kind: 'claude-aws'; workspace: string } | { kind: 'foundry' } | ChatDoorSettings>

/** `isFinishedAlone`: a call is read to its end also behind a client that has left. */
export type ChatDoorSettings = Readonly<{ kind: 'openai'; dialect: ChatDialect; isFinishedAlone: boolean }>
