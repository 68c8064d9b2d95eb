/** How much an answer may say. Rules: translation.md "Output cap". */

/** A stream may run ten minutes, a complete answer must start within six: contract.md "Limits". */
const DEFAULT_STREAM = 32_000
const DEFAULT_COMPLETE = 16_000

export const maxTokensOf = (asked: number | undefined, isStream: boolean, model: { maxOutputTokens: number }): number =>
  Math.min(asked ?? (isStream ? DEFAULT_STREAM : DEFAULT_COMPLETE), model.maxOutputTokens)
