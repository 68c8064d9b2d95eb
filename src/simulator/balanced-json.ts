/**
 * Finds the end of a JSON value inside other text: used for directives, and for schemas that a system prompt quotes.
 * Rules: https://www.rfc-editor.org/rfc/rfc8259.
 */

type FoundJson = Readonly<{ value: unknown; end: number }>

/** The object, array or string that opens at `start`; undefined when the value does not close or is not JSON. `end` is the position after the value. */
export function readBalancedJson(text: string, start: number): FoundJson | undefined {
  const end = text[start] === '"' ? stringEnd(text, start) : bracketEnd(text, start)
  if (end === -1) return undefined
  try {
    return { value: JSON.parse(text.slice(start, end)), end }
  } catch {
    return undefined
  }
}

function bracketEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const letter = text[at]
    if (letter === '{' || letter === '[') depth++
    else if ((letter === '}' || letter === ']') && --depth === 0) return at + 1
    else if (letter === '"') {
      const end = stringEnd(text, at)
      if (end === -1) return -1
      at = end - 1
    }
  }
  return -1
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at + 1
    if (text[at] === '\\') at++
  }
  return -1
}
