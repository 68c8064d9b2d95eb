/**
 * Where a page of an ordered list ends: the row at the top of what is ordered, so that what is made later moves nothing; and the last row that was shown, with the value by
 * which it stands there, so that a value that changes meanwhile moves no other row. Rules: operator.md "Lists".
 */

/** `top`: the newest row that is ordered, or the moment before which it is. `id`, `value`: of the last row that was shown; undefined: none was. */
export type ListPlace = Readonly<{ top: string; id?: string; value?: string }>

export const placeText = ({ top, id, value }: ListPlace): string =>
  Buffer.from(JSON.stringify(id === undefined ? [top] : [top, id, value])).toString('base64url')

/** Undefined: the text is no place. No part has a NUL, which Postgres takes in no text. */
export function placeIn(text: string): ListPlace | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string' && !part.includes('\0'))) return undefined
    const [top, id, value] = parts as readonly (string | undefined)[]
    if (top === undefined || parts.length > 3 || parts.length === 2) return undefined
    return id === undefined || value === undefined ? { top } : { top, id, value }
  } catch {
    return undefined
  }
}

/** Whether a text is a whole number that both stores can hold: a larger one would be an error of Postgres. */
export const isStoredNumber = (text: string): boolean => /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)

/** The longest text of a place: two ids, and a name of 128 letters of four bytes. */
export const PLACE_CHARS_MAX = 1_500

/** An order by a word: `-word` falls. */
export const isFallingOrder = (order: string): boolean => order.startsWith('-')
