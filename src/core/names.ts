/** Names of keys and accounts: people type them where an id would do, so they look like no id and can be read. Rules: operator.md "Keys and accounts". */

const NAME_UNITS_MAX = 128

/** What is wrong with it, as a sentence for the person who typed it; undefined where it may be a name. The ledger checks that it is unique. */
export function problemOfName(name: string): string | undefined {
  if (name.trim() !== name || name === '' || name.length > NAME_UNITS_MAX || /\p{C}/u.test(name))
    return `Expected 1 to ${NAME_UNITS_MAX} printable characters without spaces around them.`
  return /^(key|acc)_/.test(name) ? 'Names that begin with key_ or acc_ are kept for ids.' : undefined
}
