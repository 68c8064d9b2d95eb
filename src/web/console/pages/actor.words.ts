/** Who did an act, by the form of the actor, and from where, in words: "shop", "token of the API". Rules: operator.md "Audit"; pages.md "Tables". */

export function actorWords(actor: string, address: string): Readonly<{ who: string; from: string }> {
  const [, kind = '', name = ''] = /^(person|token|os):(.*)$/.exec(actor) ?? []
  const chat = /^telegram:(.*)$/.exec(address)?.[1]
  const from = chat !== undefined ? `Telegram, chat ${chat}` : (PLACES[address] ?? address)
  if (kind === 'token') return { who: name, from: ['token of the API', from].filter((part) => part !== '').join(', ') }
  return { who: kind === '' ? (ACTORS[actor] ?? actor) : name, from }
}

const PLACES: Readonly<Record<string, string>> = { socket: 'command line', file: 'command line' }
const ACTORS: Readonly<Record<string, string>> = { program: 'the gateway itself', signal: 'a signal of the operating system' }
