/**
 * The path of a request that no route answers, as a log may show it: without its query, printable, short, and without a secret that a person may
 * have pasted into it. Rules: requests.md "What never leaks"; operator.md "Log".
 */

const LENGTH_MAX = 200
/** The prefixes of our keys and most vendors' keys, with whatever follows them; and any run as long as a secret, which no path of an API has. */
const SECRETS = /\b(?:sk|pk|rk|ak|key|token|bearer|basic)[-_: ]+[^/]*|[^/]{40,}|[0-9A-Za-z+=_-]{32,}/gi
const MASK = '***'
const ESCAPE = /%[0-9a-f]{2}/i
const ESCAPES = /%([0-9a-f]{2})/gi
const ROUNDS_MAX = 5

/** `path` is a URL's path, still percent-encoded. */
export const shownPath = (path: string): string => {
  const [shown = ''] = decoded(path).split(/[?#]/)
  return shown
    .replace(SECRETS, MASK)
    .replace(/[^ -~]/g, '?')
    .slice(0, LENGTH_MAX)
}

/** Decodes until nothing is left to decode: a secret that was encoded twice is still a secret. It decodes to bytes, not characters: only ASCII is shown. */
function decoded(path: string): string {
  let text = path
  for (let round = 0; round < ROUNDS_MAX && ESCAPE.test(text); round++)
    text = text.replace(ESCAPES, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return text
}
