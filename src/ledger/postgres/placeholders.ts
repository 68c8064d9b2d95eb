/**
 * Replaces SQLite's placeholders by those of Postgres: `?`, `?1`, `$name`, `:name` and `@name` become `$n`, except inside a string, a name or a comment. The `?` operator of
 * jsonb is not supported (use jsonb_exists), nor is a slice of an array by names. Rules: ledger.md "Two stores".
 */

/** `parameters[n - 1]` is the name of the value for `$n`; undefined: the value is the n-th of the list. */
export type Numbered = Readonly<{ text: string; parameters: readonly (string | undefined)[] }>

/** First the pieces in which no placeholder can stand, then the placeholders. An unfinished string goes to the end of the text, and Postgres reports it. */
const PIECE = new RegExp(
  [
    /[eE]'(?:[^'\\]|\\[\s\S]|'')*'?/, // a string with escapes
    /'(?:[^']|'')*'?/,
    /"(?:[^"]|"")*"?/,
    /--[^\n]*/,
    /\/\*/, // nests, so its end is looked for by hand
    /\$(?:[a-z_]\w*)?\$/, // begins a string that ends with the same
    /[a-z_\u0080-\uffff][\w$\u0080-\uffff]*/, // a word may have a dollar sign inside
    /::/,
    /[?$](?<number>\d+)/,
    /[$:@](?<name>[a-z_]\w*)/,
    /(?<next>\?)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'giu',
)

export function numberPlaceholders(text: string): Numbered {
  const parameters: (string | undefined)[] = []
  let numbered = ''
  let done = 0
  PIECE.lastIndex = 0
  for (let piece = PIECE.exec(text); piece !== null; piece = PIECE.exec(text)) {
    const place = placeOf(piece.groups ?? {}, parameters)
    if (place === undefined) {
      PIECE.lastIndex = endOf(text, piece[0], PIECE.lastIndex)
      continue
    }
    while (parameters.length < place) parameters.push(undefined)
    numbered += `${text.slice(done, piece.index)}$${place}`
    done = PIECE.lastIndex
  }
  return { text: numbered + text.slice(done), parameters }
}

/** The number of a placeholder, counted as SQLite does: `?` is one more than the greatest so far, and a name has the same number everywhere. */
function placeOf(
  { number, name, next }: Readonly<Record<string, string | undefined>>,
  parameters: (string | undefined)[],
): number | undefined {
  if (number !== undefined) return Number(number)
  if (next !== undefined) return parameters.length + 1
  if (name === undefined) return undefined
  const known = parameters.indexOf(name)
  if (known !== -1) return known + 1
  return parameters.push(name)
}

function endOf(text: string, piece: string, end: number): number {
  if (piece === '/*') return endOfComment(text, end)
  if (!piece.startsWith('$')) return end
  const close = text.indexOf(piece, end)
  return close === -1 ? text.length : close + piece.length
}

function endOfComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  for (let depth = 1; depth > 0; ) {
    const found = mark.exec(text)
    if (found === null) return text.length
    depth += found[0] === '/*' ? 1 : -1
  }
  return mark.lastIndex
}
