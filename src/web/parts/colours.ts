/** The colours of series. A chart is read by them, so that no two series of one have the same. Rules: pages.md "Spend". */

/** Colours with enough contrast on the light and the dark ground. */
const COLOURS = ['#0f9673', '#5b78e0', '#d08a2e', '#b255a5', '#3a9cc0', '#c65653', '#7d9a34'] as const
/** The colour of a series that has none of its own. */
export const OTHERS_COLOUR = '#8a948f'

/** A colour for each of at most seven names, without the one that is `taken` already. A name keeps its colour as far as possible, whatever the other names are. */
export function coloursOf(names: readonly string[], taken?: string): ReadonlyMap<string, string> {
  const free: string[] = COLOURS.filter((colour) => colour !== taken)
  const colours = new Map<string, string>()
  for (const name of names.toSorted()) {
    const wanted = COLOURS[hashOf(name) % COLOURS.length] ?? OTHERS_COLOUR
    const place = Math.max(free.indexOf(wanted), 0)
    colours.set(name, free.splice(place, 1)[0] ?? OTHERS_COLOUR)
  }
  return colours
}

const hashOf = (name: string): number => Array.from(name).reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0, 7)
