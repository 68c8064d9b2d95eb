/** The doors behind which models of the native format are sold, and what a configuration says of each. Rules: doors.md "Kinds". */

export const KINDS = ['native', 'claude-aws', 'foundry'] as const
export type Kind = (typeof KINDS)[number]

/** What a door needs to know beside its address and its key. `workspace`: the one that answers for our requests. */
export type DoorSettings = Readonly<{ kind: 'native' } | { kind: 'claude-aws'; workspace: string } | { kind: 'foundry' }>
