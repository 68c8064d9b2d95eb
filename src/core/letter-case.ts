/**
 * Texts that begin alike but for the case of their letters, in all of Unicode. Two code points are one letter where simple case folding makes them equal, as a regular
 * expression with `iu` compares: https://tc39.es/ecma262/#sec-runtime-semantics-canonicalize-ch.
 */

/** For each code point of a text all that are the same letter, in their order, without A to Z: texts are compared where these are in lower case already. */
export type Spellings = readonly (readonly string[])[]

export const spellingsOf = (text: string): Spellings =>
  Array.from(text, (letter) => cases().get(letter) ?? [letter]).map((same) => same.filter((one) => !/[A-Z]/.test(one)))

/** By this, texts that differ in the case of their letters are equal: one order for all of them. */
export const withoutCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

/** The first of the spellings that `text` begins with or that stands behind it, in the order of code points; undefined: all stand before it. */
export function spellingFrom(spellings: Spellings, text: string): string | undefined {
  const letters = [...text]
  const end = spellings.findIndex((same, index) => !same.includes(letters[index] ?? ''))
  return end === -1 ? letters.slice(0, spellings.length).join('') : spellingPast(spellings, letters, end)
}

/** The first of the spellings behind this one. */
export const spellingAfter = (spellings: Spellings, spelling: string): string | undefined =>
  spellingPast(spellings, [...spelling], spellings.length - 1)

/** The first that is greater than the letters at the place `end`, or, where none is, at the nearest place before it; before that place it has the same letters. */
function spellingPast(spellings: Spellings, letters: readonly string[], end: number): string | undefined {
  for (let index = end; index >= 0; index--) {
    const greater = spellings[index]?.find((letter) => pointOf(letter) > pointOf(letters[index]))
    if (greater === undefined) continue
    return [...letters.slice(0, index), greater, ...spellings.slice(index + 1).map(([first = '']) => first)].join('')
  }
  return undefined
}

/** Before every code point: the end of a text. */
const pointOf = (letter: string | undefined): number => letter?.codePointAt(0) ?? -1

/** No script with cases is behind it (https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt). */
const CASED_END = 0x1_f000
/** Its upper case is "I", but the letter is another one. */
const DOTLESS_I = 'ı'

let known: ReadonlyMap<string, readonly string[]> | undefined

/** By each code point with a case those that are the same letter. Made when it is first asked for. */
function cases(): ReadonlyMap<string, readonly string[]> {
  if (known !== undefined) return known
  const byFold = new Map<string, string[]>()
  for (let point = 0; point < CASED_END; point++) {
    const letter = String.fromCodePoint(point)
    // By upper case the cases of a letter meet that have no common lower case, such as σ and ς.
    const upper = letter.toLowerCase().toUpperCase()
    if (letter === upper && letter === letter.toLowerCase()) continue
    const fold = letter === DOTLESS_I ? letter : upper.toLowerCase()
    const same = byFold.get(fold)
    if (same === undefined) byFold.set(fold, [letter])
    else same.push(letter)
  }
  known = new Map([...byFold.values()].flatMap((same) => same.map((letter) => [letter, same] as const)))
  return known
}
