/** SHA-256 (FIPS 180-4). The core may not import a cryptography module. Nothing secret is hashed here, but a client decides how long it is: no allocation a block. */

/** The digest in 64 hexadecimal digits. */
export function sha256Hex(bytes: Uint8Array): string {
  const state = Uint32Array.from(SQUARE_ROOTS)
  const words = new Uint32Array(64)
  const message = padded(bytes)
  for (let at = 0; at < message.byteLength; at += 64) compress(state, words, message, at)
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The bytes, a 1 bit, zeros, and the length in bits as 64 bits: whole blocks of 64 bytes. */
function padded(bytes: Uint8Array): DataView {
  const blocks = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  blocks.set(bytes)
  blocks[bytes.length] = 0x80
  const view = new DataView(blocks.buffer)
  view.setBigUint64(view.byteLength - 8, BigInt(bytes.length) * 8n)
  return view
}

function compress(state: Uint32Array, words: Uint32Array, message: DataView, at: number): void {
  for (let i = 0; i < 64; i++) words[i] = i < 16 ? message.getUint32(at + 4 * i) : nextWord(words, i)
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = Int32Array.from(state)
  for (let i = 0; i < 64; i++) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + (CUBE_ROOTS[i] ?? 0) + (words[i] ?? 0)) | 0
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) state[i] = (state[i] ?? 0) + word
}

function nextWord(words: Uint32Array, i: number): number {
  const far = words[i - 15] ?? 0
  const near = words[i - 2] ?? 0
  const small = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3)
  const large = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)
  return ((words[i - 16] ?? 0) + small + (words[i - 7] ?? 0) + large) | 0
}

const turned = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))

const PRIMES = firstPrimes(64)
/** First 32 bits of the fractional parts of the roots of the first primes. Exact in binary64: the fractions need 32 + 9 bits. */
const CUBE_ROOTS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))
const SQUARE_ROOTS = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32) >>> 0
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let next = 2; primes.length < count; next++) if (primes.every((prime) => next % prime !== 0)) primes.push(next)
  return primes
}
