/**
 * The signature that the gateway gives to thinking from a server that does not sign. It marks the block as ours, so that the block goes back to such servers as the reasoning that
 * it was, and never to a native upstream, which would refuse it. Rules: openai.md "Thinking".
 */

/** The fields in which such servers write their reasoning. Reasoning goes back in the field that it came in. */
export const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const
export type ReasoningField = (typeof REASONING_FIELDS)[number]

/** No vendor's signature has a dot. */
export const OWN_SIGNATURE = 'tollgate.'

export const ownSignature = (field: ReasoningField): string => `${OWN_SIGNATURE}${field}`

export const isOwnSignature = (signature: unknown): boolean => typeof signature === 'string' && signature.startsWith(OWN_SIGNATURE)

/** The field that the signature names; undefined where the signature is not ours. */
export const fieldOfSignature = (signature: unknown): ReasoningField | undefined =>
  REASONING_FIELDS.find((field) => signature === ownSignature(field))
