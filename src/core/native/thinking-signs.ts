/** Signs of thinking in a native body, found in its bytes without parsing them. Rules: pool.md "Bound thinking". */

/** `isHeld`: the conversation holds thinking. `mayCome`: it does, or may from the next answer on. */
export type ThinkingSigns = Readonly<{ isHeld: boolean; mayCome: boolean }>

/** Only thinking blocks have a signature. A client that writes one elsewhere only makes the pool ask one more upstream. */
const SIGNATURE = '"signature"'

export const holdsThinking = (body: Uint8Array): boolean => bufferOf(body).includes(SIGNATURE)

/** What is asked for counts, unless that is none. The body is read as far as the first sign. */
export function mayThink(bytes: Uint8Array): boolean {
  const body = bufferOf(bytes)
  const at = body.indexOf(THINKING)
  if (at === -1) return body.includes(REDACTED)
  const isOff = OFF.test(body.toString('latin1', at, at + OFF_LENGTH_MAX))
  return !isOff || body.includes(THINKING, at + 1) || body.includes(REDACTED)
}

export const thinkingSigns = (body: Uint8Array): ThinkingSigns => ({ isHeld: holdsThinking(body), mayCome: mayThink(body) })

/** A block's type, or what a request asks for; inside a text the quotes are escaped. */
const THINKING = '"thinking"'
const REDACTED = '"redacted_thinking"'
const OFF = /^"thinking"\s*:\s*\{\s*"type"\s*:\s*"disabled"/
const OFF_LENGTH_MAX = 256

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)
