/** The doors behind which the simulator can stand. Rules: faults.md "Simulator". */

import type { Kind } from '../../core/door.ts'

/** `openai` is no door of the native format. */
export const SIMULATED_KINDS = [
  'native',
  'claude-aws',
  'bedrock',
  'bedrock-invoke',
  'vertex',
  'claude-google',
  'foundry',
] as const satisfies Kind[]
export type SimulatedKind = (typeof SIMULATED_KINDS)[number]

/** The AWS key with which requests must be signed. */
export type AwsKey = Readonly<{ id: string; secret: string }>
