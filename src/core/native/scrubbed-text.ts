/**
 * An upstream's words on their way to a customer: whether they pass, and what is removed from them. Rules: requests.md "What never leaks"; faults.md "Words
 * of an upstream".
 */

/** Longer texts are cut: a refusal needs no more, and the expressions below search it. */
const LENGTH_MAX = 4_000

/** Words by which an upstream speaks of our account with it. As part of a longer name (`billing_lookup`, `tools.0.api_key`) such a word belongs to the customer. */
const ACCOUNT_WORDS = [
  'credits?',
  'organi[sz]ations?',
  'workspaces?',
  'billing',
  '(?:spend|spending|usage) limits?',
  '(?:x-)?api[ -]?keys?',
  'credentials?',
  'subscriptions?',
  '(?:your|this|the) account',
  'your plan',
]
const OUR_ACCOUNT = new RegExp(String.raw`(?<![\w.-])(?:${ACCOUNT_WORDS.join('|')})(?![\w-]|\.\w)`, 'i')

/** The field that a native message begins with: "messages.0.content: ". */
const FIELD_PATH = /^[\w.[\]-]+: /
/** The parts of a native message that quote the request. An apostrophe inside a word is no quote. */
const QUOTED = /`[^`]*`|"[^"]*"|(?<!\w)'[^']*'(?!\w)/g

/** Whether a text is about our account with the upstream, which a customer is never told. Quotes of the request do not count. */
export const isAboutOurAccount = (message: string): boolean =>
  OUR_ACCOUNT.test(message.slice(0, LENGTH_MAX).replace(FIELD_PATH, '').replace(QUOTED, ''))

const NOT_SHOWN = '[removed]'

const SECRETS = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s'"`<>]+/gi, // URLs
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, // addresses
  /\blocalhost(?::\d+)?\b/gi,
  /\bsk-[\w-]{6,}/gi,
  /\b(?:req|org|wrkspc|workspace|acct|apikey|user)[_-](?:0\w{5,}|(?=\w*\d)\w{16,})/gi, // ids, not `user_lookup_v2`
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
]

const HOSTS = /\b(?:[a-z0-9-]{1,63}\.){1,8}(?:com|net|org|io|ai|dev|cloud|internal|local)\b(?::\d+)?(?:\/[^\s'"`<>]*)?/gi

/** The fields of a request in which a client names things: a path through them may look like a host. */
const NAMING_FIELD = /^(?:messages|system|tools|tool_choice|metadata|mcp_servers|output_config|output_format)\.[\w.[\]-]+: /

/** A model by all its names. */
export type NamedModel = Readonly<{ id: string; upstreamModel: string; upstreams?: readonly Readonly<{ model: string }>[] }>

/** The text with our id for the model, and without hosts, addresses, keys and ids of the upstream's. */
export function scrubbedText(message: string, model: NamedModel): string {
  const text = SECRETS.reduce((shown, secret) => shown.replace(secret, NOT_SHOWN), message.slice(0, LENGTH_MAX))
  const path = NAMING_FIELD.exec(text)?.[0] ?? ''
  return withPublicId(path + text.slice(path.length).replace(HOSTS, NOT_SHOWN), model)
}

/** The public id is matched too, so that an upstream id that is a part of it is not replaced inside it. */
function withPublicId(text: string, { id, upstreamModel, upstreams = [] }: NamedModel): string {
  if (upstreamModel === '') return text
  const names = new Set([id, upstreamModel, ...upstreams.map(({ model }) => model)])
  const longerFirst = [...names].sort((a, b) => b.length - a.length).map(RegExp.escape)
  return text.replace(new RegExp(`(?<![a-z0-9])(?:${longerFirst.join('|')})(?![a-z0-9])`, 'gi'), () => id)
}
