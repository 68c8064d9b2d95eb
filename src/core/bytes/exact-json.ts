/**
 * JSON that keeps its numbers letter by letter: `12345678901234567890` and `1.0` survive parsing and writing, which plain `JSON.parse` would change.
 * Rules: requests.md "Exact bytes"; https://github.com/tc39/proposal-json-parse-with-source.
 */

/** Parses; a number that would print differently is kept as a raw JSON value that only `JSON.stringify` understands. Throws like `JSON.parse`. */
export const parseExact = (text: string): unknown => (JSON.parse as ParseWithSource)(text, keepSource)

type ParseWithSource = (text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown) => unknown

function keepSource(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined || context.source === String(value)) return value
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(context.source)
}
