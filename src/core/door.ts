/** The doors (the services through which a vendor's models are sold), and what a configuration says of each. Rules: doors.md "Kinds". */

import type { ChatDialect } from './chat-dialect.ts'

export const KINDS = ['native', 'claude-aws', 'bedrock', 'bedrock-invoke', 'vertex', 'claude-google', 'foundry', 'openai'] as const
export type Kind = (typeof KINDS)[number]

/** What a door needs to know beside its address and its key. */
export type DoorSettings = Readonly<
  | { kind: 'native' }
  /** `workspace`: the id of the workspace that our requests belong to. */
  | { kind: 'claude-aws'; workspace: string; proof: AwsProof }
  | { kind: 'bedrock'; proof: AwsProof }
  | { kind: 'bedrock-invoke'; proof: AwsProof; apiVersion: string | undefined }
  | { kind: 'vertex'; project: string; location: string; proof: GoogleProof; apiVersion: string | undefined }
  | { kind: 'claude-google'; proof: GoogleProof }
  | { kind: 'foundry'; proof: EntraProof }
  | ChatDoorSettings
>

/** `isFinishedAlone`: the gateway reads a call to its end even when the client has left. */
export type ChatDoorSettings = Readonly<{ kind: 'openai'; dialect: ChatDialect; isFinishedAlone: boolean }>

/** The call carries the upstream's key, or nothing when none is configured. */
type KeyProof = Readonly<{ by: 'key' }>

/** `service`: the AWS service that the signature names. `chain`: the credentials that AWS's own programs would find. */
export type AwsProof = KeyProof | Readonly<{ by: 'signature'; region: string; service: string; credentials: AwsKeys | 'chain' }>

/** `sessionToken` undefined: keys without an end. */
export type AwsKeys = Readonly<{ accessKeyId: string; secretAccessKey: string; sessionToken: string | undefined }>

/** `serviceAccountKey`: the JSON file's text. `tokenUrl` undefined: Google's own. */
export type GoogleProof =
  | Readonly<{ by: 'service-account'; serviceAccountKey: string; tokenUrl: string | undefined }>
  | Readonly<{ by: 'metadata'; tokenUrl: string | undefined }>

export type EntraProof =
  | KeyProof
  | Readonly<{
      by: 'client'
      tenant: string
      clientId: string
      clientSecret: string
      tokenUrl: string | undefined
      scope: string | undefined
    }>

/**
 * The betas and fields of a request that a door does not take. A beta's name that ends in `*` stands for all that begin so; a field is a path, such as
 * `tools[].defer_loading`, in which `[]` stands for every element.
 */
export type RequestEdits = Readonly<{
  dropBetas: readonly string[]
  renameBetas: Readonly<Record<string, string>>
  dropFields: readonly string[]
  /** True: the edits that are built in for this kind of door apply, too. */
  hasDefaults: boolean
}>
