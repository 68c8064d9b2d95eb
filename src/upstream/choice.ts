/**
 * The order in which a call tries its upstreams: priority, then the one with the conversation in its cache, then those that leave a request with thinking as it is,
 * then the conversation's own one, then load. Pure.
 * Rules: pool.md "Choice".  Weighted rendezvous hashing (https://datatracker.ietf.org/doc/html/draft-ietf-bess-weighted-hrw): every upstream draws for every
 * conversation, and the highest draw wins. One that leaves moves only the conversations that it had won, and gets the same ones back.
 */

export type Candidate = Readonly<{
  name: string
  /** Lower is tried first. */
  priority: number
  /** Above 0; the share of conversations among those of the same priority. */
  weight: number
  /** Calls that run. */
  inFlight: number
  /** The recent time to the first event; 0 where it is unknown. */
  firstEventMs: number
  /** Whether the upstream's answers begin later than its norm. */
  isSlow: boolean
  /** It gets requests otherwise than the client wrote them. */
  isEdited: boolean
}>

/** What a request reads or writes of a prompt cache: the conversation as 32 bytes of a hash, and the name of the upstream that has it in its cache, if any does. */
export type Cached = Readonly<{ conversation: Uint8Array; warm: string | undefined }>

/**
 * `cached`: undefined for a request that caches nothing. `random`: gives two numbers in [0, 1), and is asked only for such a request. `thinks`: is asked only where some candidates
 * edit and some do not, since it reads the whole body.
 */
export function inOrder<C extends Candidate>(
  candidates: readonly C[],
  cached: Cached | undefined,
  random: () => number,
  thinks: () => boolean = NO_THINKING,
): readonly C[] {
  if (candidates.length < 2) return candidates
  const isByEdit = candidates.some(({ isEdited }) => isEdited !== candidates[0]?.isEdited) && thinks()
  const rankOf = ({ priority, isEdited }: Candidate): number => 2 * priority + (isByEdit && isEdited ? 1 : 0)
  const scores = new Map(candidates.map((candidate) => [candidate, scoreOf(candidate, cached?.conversation ?? random)]))
  const byDraw = [...candidates].sort((a, b) => rankOf(a) - rankOf(b) || (scores.get(b) ?? 0) - (scores.get(a) ?? 0))
  return cached === undefined ? withLesserLoadedFirst(byDraw, rankOf) : withWarmFirst(byDraw, cached.warm)
}

const NO_THINKING = (): boolean => false

/** An upstream that answered while the conversation's own one was out has the newer cache: going back at once would be a second cold turn. */
function withWarmFirst<C extends Candidate>(candidates: readonly C[], name: string | undefined): readonly C[] {
  const warm = candidates.find((candidate) => candidate.name === name)
  const isBest = warm !== undefined && warm.priority === candidates[0]?.priority && !warm.isSlow
  return isBest && warm !== candidates[0] ? [warm, ...candidates.filter((candidate) => candidate !== warm)] : candidates
}

/** −weight ÷ ln(draw): the chance to be the highest is the weight's share of the sum. */
const scoreOf = ({ weight, name }: Candidate, draws: Uint8Array | (() => number)): number =>
  -weight / Math.log(typeof draws === 'function' ? Math.max(draws(), Number.MIN_VALUE) : drawOf(draws, name))

/** The better of two that are drawn by weight is nearly as good as the best of all, and keeps calls from crowding to an upstream that has just become idle. */
function withLesserLoadedFirst<C extends Candidate>(candidates: readonly C[], rankOf: (candidate: Candidate) => number): readonly C[] {
  const [first, second, ...others] = candidates
  if (first === undefined || second === undefined || rankOf(first) !== rankOf(second)) return candidates
  return isBusier(first, second) ? [second, first, ...others] : candidates
}

function isBusier(a: Candidate, b: Candidate): boolean {
  const difference = a.inFlight / a.weight - b.inFlight / b.weight
  return difference === 0 ? a.firstEventMs > b.firstEventMs : difference > 0
}

/** Uniform in (0, 1), and always the same for the same conversation and name: FNV-1a over both, finished as MurmurHash3 is. */
function drawOf(conversation: Uint8Array, name: string): number {
  let high = 0x811c9dc5
  let low = 0x9747b28c
  const add = (byte: number): void => {
    high = Math.imul(high ^ byte, 0x01000193)
    low = Math.imul(low ^ byte, 0x01000193) ^ (low >>> 15)
  }
  for (const byte of conversation) add(byte)
  for (let index = 0; index < name.length; index++) add(name.charCodeAt(index))
  return ((mixed(high) >>> 5) * 0x4000000 + (mixed(low) >>> 6) + 0.5) / 2 ** 53
}

function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
