/**
 * The checks that a request passes before it may call an upstream, in order: key, limits, body, its Idempotency-Key, reading, hold. Any check may refuse, and a
 * repetition leaves here with the answer that it repeats. Rules: keys.md "Order of checks"; house.md "One request"; requests.md "Joined answers".
 */

import type { Call, Format } from '../core/format.ts'
import type { KeyRecord } from '../core/key.ts'
import { holdFor } from '../core/pricing.ts'
import { insufficientBalance, Refusal } from '../core/refusal.ts'
import type { HoldAnswer, UsedUp } from '../ledger/ledger.ts'
import { describeBug } from '../observe/bug.ts'
import type { World } from '../world.ts'
import type { Grant, RelayParts } from './admitted.ts'
import { askersKeyOf } from './asker.ts'
import type { BodyLease } from './body-memory.ts'
import { type Hashed, hashBody } from './body-reader.ts'
import type { Exchange } from './exchange.ts'
import { type Claim, type ClaimParts, claimAnswer, isKnown, joinEarly, namesItself, runsElsewhere } from './idempotency.ts'
import { joinElsewhere, joinRunning } from './join-running.ts'
import type { Slot } from './key-limits.ts'
import type { Rated } from './rate-gate.ts'
import { countBody, readBody } from './read-body.ts'
import { readCall } from './read-call.ts'
import type { Repetition } from './repetition.ts'
import type { JoinedPlace } from './running-answer.ts'
import type { Held } from './settle.ts'

type Asking<Echo> = Readonly<{ parts: RelayParts; format: Format<Echo>; request: Request; exchange: Exchange }>
type Keyed<Echo> = Asking<Echo> & Readonly<{ key: KeyRecord }>

export async function admit<Echo>(asking: Asking<Echo>, key: KeyRecord | Refusal): Promise<Grant<Echo> | Repetition | Refusal> {
  const { world, keyLimits, rates, bodies, answers } = asking.parts
  if (key instanceof Refusal) return key
  if (world.isDraining()) return new Refusal('draining')
  if (!world.ledger.isWritable()) return new Refusal('storageUnavailable')
  const place = namesItself(asking.request) ? joinEarly(answers, key, asking.request) : undefined
  const limited = place === undefined ? rates.look(key) : undefined
  if (limited !== undefined && !(await runsElsewhere(asking.parts, key, asking.request))) return limited
  const admitting = place === undefined && limited === undefined ? keyLimits.admit(key.id) : keyLimits.count(key.id)
  const admitted = admitting instanceof Promise ? await admitting : admitting
  // A repetition takes no place among those that its key may have at once, also where another relay runs its request. Refused requests are not counted, so this one counts once.
  const isFull = admitted instanceof Refusal && place === undefined && limited === undefined
  const isRepeated = isFull && (await runsElsewhere(asking.parts, key, asking.request))
  const slot = isRepeated ? await keyLimits.count(key.id) : admitted
  if (slot instanceof Refusal) {
    place?.leave()
    return slot
  }
  const taken: Taken = { slot, lease: bodies.lease(key), claim: undefined, place, rated: undefined }
  const release = releasing(taken)
  try {
    const granted = await admitBody({ ...asking, key }, taken)
    if (granted instanceof Refusal) {
      taken.rated?.cancel()
      release(granted)
    }
    if (!(granted instanceof Refusal) && 'kind' in granted) release()
    return granted instanceof Refusal || 'kind' in granted ? granted : { ...granted, lease: taken.lease, claim: taken.claim, release }
  } catch (error) {
    release()
    throw error
  }
}

type Granted<Echo> = Pick<Grant<Echo>, 'call' | 'held' | 'sealing'>

async function admitBody<Echo>(keyed: Keyed<Echo>, taken: Taken): Promise<Granted<Echo> | Repetition | Refusal> {
  const { parts, format, request, key } = keyed
  const { lease } = taken
  const wasUsedUp = isUsedUp(keyed)
  const wasUsed = wasUsedUp === false ? false : await wasUsedUp
  const unread = wasUsed === false ? undefined : await refuseUnread(keyed, taken, wasUsed)
  if (unread !== undefined) return unread
  const received = await readBody(request, parts.world, parts.world.limits(), lease)
  if (received instanceof Refusal) return received
  const hashed = namesItself(request) ? await hashBody(parts.bodyReader, request, key, received) : undefined
  if (hashed instanceof Refusal) return hashed
  const repeated = hashed === undefined ? undefined : await claim(keyed, taken, hashed)
  if (repeated !== undefined) return repeated
  const usedUp = isUsedUp(keyed)
  const used = usedUp === false ? false : await usedUp
  if (used !== false) return usedUpRefusal(used, parts.world)
  const reading = readCall(format.name, { parts, request, key, lease }, hashed?.pieces ?? received)
  const call = reading instanceof Promise ? await reading : reading
  if (call instanceof Refusal) return call
  const rating = parts.rates.admit(key, call.bounds.inputEstimate)
  const rated = rating instanceof Promise ? await rating : rating
  if (rated instanceof Refusal) return rated
  taken.rated = rated
  const holding = hold(keyed, call as Call<Echo>, taken)
  const held = holding instanceof Promise ? await holding : holding
  if (held instanceof Refusal) return held
  const sealing = parts.kept === undefined || format.finished === undefined ? undefined : askersKeyOf(request.headers)
  return { call: call as Call<Echo>, held, sealing }
}

/** Refuses a key without money: its body is counted and not decoded, unless an answer under its Idempotency-Key may exist. Undefined: the body is to be read. */
async function refuseUnread<Echo>(keyed: Keyed<Echo>, { place }: Taken, used: UsedUp): Promise<Refusal | undefined> {
  const { parts, request, key } = keyed
  const { world } = parts
  if (namesItself(request) && (place !== undefined || (await isKnown(claimPartsOf(parts), key, request)))) return undefined
  return (await countBody(request, world, world.limits())) ?? usedUpRefusal(used, world)
}

const isUsedUp = <Echo>({ parts, key }: Keyed<Echo>): UsedUp | Promise<UsedUp> => parts.world.ledger.isUsedUp(key.id)

const usedUpRefusal = (used: UsedUp, { dashboardUrl }: Pick<World, 'dashboardUrl'>): Refusal =>
  insufficientBalance(dashboardUrl(), typeof used === 'object' ? used : undefined)

const claimPartsOf = ({ world, answers, shared, claims, kept }: RelayParts): ClaimParts => ({
  ledger: world.ledger,
  answers,
  now: world.clock.now,
  shared,
  claims,
  kept,
  onBug: (bug) => world.log.alarm('an answer could not be kept', describeBug(bug)),
})

/** Undefined: this request has claimed the header, and a place among its key's concurrent requests. */
async function claim<Echo>(keyed: Keyed<Echo>, taken: Taken, body: Hashed): Promise<Repetition | Refusal | undefined> {
  const { parts, request, key, exchange } = keyed
  const { keyLimits } = parts
  const claimed = await claimAnswer(claimPartsOf(parts), key, request, body.hash, exchange.requestId)
  if (claimed === undefined || claimed instanceof Refusal) return claimed
  if (!('kind' in claimed)) {
    taken.claim = claimed
    // A request that had joined a running answer has no slot yet: that answer has ended meanwhile, and the header is free again.
    const slot = taken.slot ?? (await keyLimits.admit(key.id))
    if (slot instanceof Refusal) return slot
    taken.slot = slot
    return undefined
  }
  if (claimed.kind === 'finished') return { kind: 'repetition', key, of: claimed, lease: taken.lease }
  if (claimed.kind === 'running') return joinRunning(claimed, key, taken)
  return joinElsewhere(keyed, taken, claimed, body)
}

function hold<Echo>(
  { parts, format, key, exchange }: Keyed<Echo>,
  call: Call<Echo>,
  { claim, rated }: Pick<Taken, 'claim' | 'rated'>,
): Held | Refusal | Promise<Held | Refusal> {
  const { world } = parts
  const { rates, levels, contextWindow, costs, id: modelId } = call.model
  const prices = { rates, levels }
  const held: Held = {
    key,
    modelId,
    isStream: call.isStream,
    sessionHash: sessionHashOf(key.accountId, call.routing.conversation),
    idempotency: claim?.idempotency,
    rated,
    bounds: call.bounds,
    prices,
    amountPicos: holdFor(call.bounds, prices, contextWindow),
  }
  if (world.isDraining()) return new Refusal('draining')
  const answer = world.ledger.hold({
    requestId: exchange.requestId,
    keyId: key.id,
    modelId,
    format: format.name,
    isStream: call.isStream,
    rates,
    levels,
    costs,
    tag: call.tag,
    amountPicos: held.amountPicos,
    now: world.clock.now(),
  })
  return answer instanceof Promise ? answer.then((given) => holdRefusal(given, world) ?? held) : (holdRefusal(answer, world) ?? held)
}

type Taken = {
  slot: Slot | undefined
  rated: Rated | undefined
  readonly lease: BodyLease
  claim: Claim | undefined
  place: JoinedPlace | undefined
}

/**
 * A function of its own, because a closure made where the body is read would hold everything there as long as a stream runs. `refusal` goes to the repetitions that
 * have joined the request.
 */
const releasing =
  (taken: Taken) =>
  (refusal?: Refusal): void => {
    taken.slot?.release()
    taken.rated?.release()
    taken.lease.release()
    taken.place?.leave()
    taken.claim?.answer.drop(refusal)
  }

/** The account salts the hash: no account can steer another one's conversations, or find them by their words. Rules: pool.md "Affinity". */
const sessionHashOf = (accountId: string, conversation: string): Uint8Array => hashOf(`${accountId}\n${conversation}`)

/** Hashes in one call, into bytes of ours: a hasher that is fed and read costs thirty times as much. */
const hashOf = (text: string): Uint8Array => Bun.SHA256.hash(text, new Uint8Array(32)) as Uint8Array

function holdRefusal(answer: HoldAnswer, { dashboardUrl }: Pick<World, 'dashboardUrl'>): Refusal | undefined {
  switch (answer) {
    case 'held':
      return undefined
    case 'exhausted':
      return insufficientBalance(dashboardUrl())
    case 'reserved':
      return new Refusal('balanceHeld', { retryAfterSeconds: 1 })
    case 'disabled':
      return new Refusal('keyDisabled')
    case 'expired':
      return new Refusal('keyExpired')
    case 'unavailable':
      return new Refusal('storageUnavailable')
    default:
      return insufficientBalance(dashboardUrl(), answer)
  }
}
