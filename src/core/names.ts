/** Names of keys, accounts and tokens: people may type a name in place of an id, so a name must not look like an id, and must be printable. Rules: operator.md "Keys and accounts". */

const NAME_UNITS_MAX = 128

/** What is wrong with the name, as a sentence for the person who typed it; undefined where nothing is. The ledger checks that the name is unique. */
export function problemOfName(name: string): string | undefined {
  if (name.trim() !== name || name === '' || name.length > NAME_UNITS_MAX || /\p{C}/u.test(name))
    return `Expected 1 to ${NAME_UNITS_MAX} printable characters without spaces around them.`
  return /^(key|acc|tok)_/.test(name) ? 'Names that begin with key_, acc_ or tok_ are kept for ids.' : undefined
}
