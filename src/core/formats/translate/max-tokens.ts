/** How much an answer may say. Source: product.md "Requests" (Chat): the client's figure, else a default, never above the model's maximum. */

/** A stream may run ten minutes, a complete answer must start within six (spec "Limits"). */
const DEFAULT_STREAM = 32_000
const DEFAULT_COMPLETE = 16_000

export const maxTokensOf = (asked: number | undefined, isStream: boolean, model: { maxOutputTokens: number }): number =>
  Math.min(asked ?? (isStream ? DEFAULT_STREAM : DEFAULT_COMPLETE), model.maxOutputTokens)
