/**
 * Idempotency-Key: a request that is sent again under the same header gets the same answer, and none is generated or charged twice within a day. Rules: requests.md
 * "Repeated requests".
 */

import type { KeyRecord } from '../core/key.ts'
import type { Outcome } from '../core/outcome.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import type { Idempotency, Ledger } from '../ledger/ledger.ts'
import type { KeptElsewhere, SharedAnswers, SharedClaims } from '../ledger/shared-answers.ts'
import { type AnswerStore, type StoreFound, storeAmongRelays, storeInLedger, storeWithOthers } from './answer-store.ts'
import { askersKeyOf } from './asker.ts'
import { ANSWER_TTL_MS, type IdempotentResponses } from './idempotent-responses.ts'
import { nativeQueryOf, pathOf } from './request-target.ts'
import type { AnswerHead, FinishedAnswer, JoinedPlace, RunningAnswer } from './running-answer.ts'
import { type Kept, usesUp } from './settle.ts'

/** An answer while it is given, to be ended by `finish`, `drop` or `doubt`. */
export type RecordedAnswer = Pick<RunningAnswer, 'begin' | 'add' | 'drop'> &
  Readonly<{
    /** Ends it where it is not known whether its request was charged. */
    doubt(shown: Refusal): void
    /** `isStored`, by default true: whether the answer may be written to a disk. */
    finish(head: AnswerHead, whole?: Uint8Array, isStored?: boolean): void
  }>

/** The claim on a header that was not used before: what the settle writes down of the header, and where the answer is recorded meanwhile. */
export type Claim = Readonly<{ idempotency: Idempotency; answer: RecordedAnswer }>

/** The request under this header runs on another node. `answer` stands for it here, so that one request asks for all that wait; the caller ends it. */
export type Elsewhere = Readonly<{ kind: 'elsewhere'; answer: RunningAnswer; store: AnswerStore }>

export type ClaimParts = Readonly<{
  ledger: Pick<Ledger, 'findIdempotency'>
  answers: IdempotentResponses
  now: () => number
  /** Present where other nodes answer, too. */
  shared?: SharedAnswers | undefined
  /** Present where other relays of one ledger process answer, too. */
  claims?: SharedClaims | undefined
  /** Present where no other node answers: the answers that a restart leaves. */
  kept?: KeptElsewhere | undefined
  /** Called when an answer could not be kept. */
  onBug: (bug: unknown) => void
}>

type RequestHead = Pick<Request, 'headers' | 'url'>

const HEADER = 'idempotency-key'
const NAME = 'Idempotency-Key'
const VISIBLE_ASCII = /^[!-~]{1,255}$/
/** Other headers do not change what is asked. */
const HEADERS_THAT_MATTER = ['anthropic-version', 'vendor-version', 'anthropic-beta'] as const
/** Hashed only where present, so that hashes of requests without them do not change. */
const HEADERS_WHERE_PRESENT = ['x-include-cost', 'x-max-cost-usd'] as const

/** Whether the request has an Idempotency-Key. */
export const namesItself = ({ headers }: Pick<Request, 'headers'>): boolean => headers.get(HEADER) !== null

/**
 * Takes a place in the answer that runs here under the same header, before the body is known: with that place the request needs no slot among those that its key may
 * have at once. Undefined: nothing runs, or the answer cannot be joined.
 */
export function joinEarly(
  answers: IdempotentResponses,
  { id: keyId }: Pick<KeyRecord, 'id'>,
  { headers }: RequestHead,
): JoinedPlace | undefined {
  const header = headers.get(HEADER)
  if (header === null || !VISIBLE_ASCII.test(header)) return undefined
  return answers.running({ keyId, headerHash: sha256(header).toString('hex') })?.join()
}

/** Whether a request under the same header runs at another relay of the same ledger process, and nothing stands for it here yet; true also where that is not known. */
export async function runsElsewhere(
  { answers, claims }: Pick<ClaimParts, 'answers' | 'claims'>,
  { id: keyId }: Pick<KeyRecord, 'id'>,
  { headers }: RequestHead,
): Promise<boolean> {
  const header = headers.get(HEADER)
  if (claims === undefined || header === null || !VISIBLE_ASCII.test(header)) return false
  const headerHash = sha256(header)
  if (answers.running({ keyId, headerHash: headerHash.toString('hex') }) !== undefined) return false
  return await claims.isRunning({ keyId, headerHash })
}

/** Whether a request under the same header was or is answered for this key; true also where that cannot be read. Claims nothing. */
export async function isKnown(
  { ledger, answers, shared, claims }: Pick<ClaimParts, 'ledger' | 'answers' | 'shared' | 'claims'>,
  { id: keyId, accountId }: Pick<KeyRecord, 'id' | 'accountId'>,
  { headers }: RequestHead,
): Promise<boolean> {
  const header = headers.get(HEADER)
  if (header === null || !VISIBLE_ASCII.test(header)) return false
  const headerHash = sha256(header)
  if (answers.find({ keyId, accountId, headerHash: headerHash.toString('hex') }) !== undefined) return true
  if ((await (shared ?? claims)?.isRunning({ keyId, headerHash })) === true) return true
  return (await ledger.findIdempotency(keyId, headerHash)) !== undefined
}

/** Claims the header. Comes after the body, whose SHA-256 is `hash`, and before all that depends on the claim; waits for one read at most. `requestId`: of this request. */
export async function claimAnswer(
  parts: ClaimParts,
  { id: keyId, accountId }: Pick<KeyRecord, 'id' | 'accountId'>,
  { headers, url }: RequestHead,
  hash: Uint8Array,
  requestId: string,
): Promise<Claim | FinishedAnswer | RunningAnswer | Elsewhere | Refusal | undefined> {
  const { answers, now } = parts
  const header = headers.get(HEADER)
  if (header === null) return undefined
  if (!VISIBLE_ASCII.test(header)) return invalid(NAME, 'Input should be 1 to 255 visible ASCII characters')
  const headerHash = sha256(header)
  const bodyHash = sha256(requestText(headers, url, hash))
  const bodyHex = bodyHash.toString('hex')
  const answerKey = { keyId, accountId, headerHash: headerHash.toString('hex') }
  const known = answers.find(answerKey)
  if (known !== undefined) return known.bodyHash === bodyHex ? known : OTHER_BODY()
  // The header's place is taken before the first wait, so that two requests at once never both find it free.
  const answer = answers.begin(answerKey, { bodyHash: bodyHex, requestId })
  const store = storeOf(parts, { accountId, key: askersKeyOf(headers), repeatable: { keyId, headerHash, bodyHash } })
  const found = await store.claim().catch((bug: unknown) => {
    answer.drop()
    throw bug
  })
  if (found.kind === 'claimed') {
    const idempotency = { headerHash, bodyHash, expiresAt: now() + ANSWER_TTL_MS }
    return { idempotency, answer: keptBeyond(answer, store) }
  }
  if (found.kind === 'running' && found.isSame) return { kind: 'elsewhere', answer, store }
  const shown = shownOf(found, bodyHex)
  answer.drop(shown)
  return shown
}

function storeOf({ shared, claims, onBug, ...parts }: ClaimParts, asker: Parameters<typeof storeInLedger>[1]): AnswerStore {
  if (shared !== undefined) return storeWithOthers(shared, asker, onBug)
  const store = storeInLedger({ kept: undefined, ...parts }, asker)
  return claims === undefined ? store : storeAmongRelays(claims, asker, store)
}

/** What a repetition gets where it is not a new request. */
export function shownOf(found: Exclude<StoreFound, { kind: 'claimed' }>, bodyHash: string): FinishedAnswer | Refusal {
  if (found.kind === 'unavailable') return new Refusal('storageUnavailable')
  if (!found.isSame) return OTHER_BODY()
  if (found.kind === 'running') return new Refusal('repetitionRunning')
  const { requestId, answer } = found
  return answer === undefined ? gone(requestId) : { kind: 'finished', bodyHash, ...answer }
}

/** Hands the end of the answer on to the store, which keeps the answer or frees the header. */
function keptBeyond(answer: RunningAnswer, store: AnswerStore): RecordedAnswer {
  return {
    begin: (heartbeat) => answer.begin(heartbeat),
    add: (bytes) => answer.add(bytes),
    finish(head, whole, isStored = true) {
      if (answer.hasEnded) return
      const bytes = answer.finish(head, whole)
      store.keep({ head, bytes, isStored })
    },
    drop(shown) {
      if (answer.hasEnded) return
      answer.drop(shown)
      store.release()
    },
    doubt(shown) {
      if (answer.hasEnded) return
      answer.drop(shown)
      store.doubt()
    },
  }
}

/** The end of a request that had claimed its header. */
export type ClaimEnd = Readonly<{
  outcome: Outcome
  kept: Kept
  head: AnswerHead
  isStored: boolean
  /** The bytes of an answer in one piece. */
  whole?: Uint8Array
  /** The error that the client got instead of an answer. */
  refusal?: Refusal | undefined
}>

/** Ends the claim of a request whose answer is whole, or as whole as it will be. */
export function endClaim(claim: Claim | undefined, { outcome, kept, head, isStored, whole, refusal }: ClaimEnd): void {
  if (kept === 'unavailable') claim?.answer.doubt(new Refusal('storageUnavailable'))
  else if (usesUp(outcome, kept.costPicos)) claim?.answer.finish(head, whole, isStored)
  else claim?.answer.drop(refusal ?? (whole && { kind: 'finished', head, bytes: whole }))
}

const OTHER_BODY = (): Refusal => invalid(NAME, 'was used with another request; send each request under a key of its own')

/** The refusal where the first request was charged and its answer is no longer kept: to generate it once more would be a second charge. */
const gone = (requestId: string): Refusal =>
  new Refusal('invalidRequest', { message: `${NAME} was used by request ${requestId}, whose answer is no longer kept` })

const sha256 = (text: string): Buffer => new Bun.CryptoHasher('sha256').update(text).digest()

/** The text that is equal for two requests exactly when they are the same request. */
function requestText(headers: Headers, url: string, hash: Uint8Array): string {
  const always = HEADERS_THAT_MATTER.map((name) => headers.get(name) ?? '')
  const present = HEADERS_WHERE_PRESENT.flatMap((name) => (headers.get(name) === null ? [] : `${name}: ${headers.get(name)}`))
  return [pathOf(url) + nativeQueryOf(url), ...always, Buffer.from(hash).toString('hex'), ...present].join('\n')
}
