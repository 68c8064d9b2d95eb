/** Reads a curl line as a shell would: quotes, `$NAME`, lines continued by a backslash. Only what the guide uses; anything else is an error. */

export type CurlRequest = Readonly<{ url: string; init: RequestInit }>

export function readCurl(text: string, env: Readonly<Record<string, string>>): CurlRequest {
  const [command, ...words] = wordsOf(text, env)
  if (command !== 'curl') throw new Error(`not a curl line: ${text}`)
  const headers = new Headers()
  let url = ''
  let body: string | undefined
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-N') continue
    // The answer's file.
    if (word === '-o') {
      words.shift()
      continue
    }
    if (word === '-H') {
      const [, name = '', value = ''] = /^([^:]+): (.+)$/.exec(words.shift() ?? '') ?? []
      headers.set(name, value)
    } else if (word === '-d') body = words.shift()
    else if (word.startsWith('-') || url !== '') throw new Error(`unexpected ${word}`)
    else url = word
  }
  return { url, init: { headers, ...(body === undefined ? {} : { method: 'POST', body }) } }
}

function wordsOf(text: string, env: Readonly<Record<string, string>>): string[] {
  const tokens = [...text.matchAll(/\s+|\\\n|(?:'[^']*'|"[^"\\]*"|[^\s'"\\])+/g)].map(([token]) => token)
  if (tokens.join('') !== text) throw new Error(`cannot be read as a shell would: ${text}`)
  return tokens
    .filter((token) => token.trim() !== '' && token !== '\\\n')
    .map((token) => token.replaceAll(/'([^']*)'|"([^"]*)"|([^'"]+)/g, (_, raw, quoted, bare) => raw ?? expand(quoted ?? bare, env)))
}

const expand = (text: string, env: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const value = env[name]
    if (value === undefined) throw new Error(`$${name} is not set`)
    return value
  })
