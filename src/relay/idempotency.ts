/**
 * Idempotency-Key: a request that is sent again under the same one is answered again, never generated and never charged twice within a day.
 * Rules: requests.md "Repeated requests".
 */

import type { KeyRecord } from '../core/key.ts'
import type { Outcome } from '../core/outcome.ts'
import { invalid, Refusal } from '../core/refusal.ts'
import type { Idempotency, Ledger } from '../ledger/ledger.ts'
import type { ClaimFound, Repeatable, SharedAnswers } from '../ledger/shared-answers.ts'
import { answerHeaders } from './answer-headers.ts'
import { ANSWER_TTL_MS, type AnswerHead, type AnswerMemory, type FinishedAnswer, type RecordedAnswer } from './answer-memory.ts'
import { nativeQueryOf, pathOf } from './request-target.ts'
import { type Kept, usesUp } from './settle.ts'

/** A header that was not used before: what the settle writes down of it, and where the answer is kept meanwhile. To be ended by `finish` or `drop`. */
export type Claim = Readonly<{ idempotency: Idempotency; answer: RecordedAnswer }>

export type ClaimParts = Readonly<{
  ledger: Pick<Ledger, 'findIdempotency'>
  answers: AnswerMemory
  now: () => number
  /** Where other nodes answer, too. */
  shared?: SharedAnswers | undefined
}>

const HEADER = 'idempotency-key'
const NAME = 'Idempotency-Key'
/** Other headers do not change what is asked. */
const HEADERS_THAT_MATTER = ['anthropic-version', 'vendor-version', 'anthropic-beta'] as const

/** It has such a header. */
export const namesItself = ({ headers }: Pick<Request, 'headers'>): boolean => headers.get(HEADER) !== null

/** Comes after the body and before all that depends on it; waits for one read at most. */
export async function claimAnswer(
  { ledger, answers, now, shared }: ClaimParts,
  { id: keyId, accountId }: Pick<KeyRecord, 'id' | 'accountId'>,
  { headers, url }: Pick<Request, 'headers' | 'url'>,
  body: Uint8Array,
): Promise<Claim | FinishedAnswer | Refusal | undefined> {
  const header = headers.get(HEADER)
  if (header === null) return undefined
  if (!/^[!-~]{1,255}$/.test(header)) return invalid(NAME, 'Input should be 1 to 255 visible ASCII characters')
  const headerHash = sha256(header)
  const bodyHash = sha256(await requestText(headers, url, body))
  const bodyHex = bodyHash.toString('hex')
  const answerKey = { keyId, accountId, headerHash: headerHash.toString('hex') }
  const known = answers.find(answerKey)
  if (known !== undefined) {
    if (known.bodyHash !== bodyHex) return OTHER_BODY()
    return known.kind === 'finished' ? known : new Refusal('repetitionRunning')
  }
  // Its place is taken before the first wait, so that two at once never both find it free.
  const answer = answers.begin(answerKey, bodyHex)
  const repeatable = { keyId, headerHash, bodyHash }
  const found = await (shared === undefined ? lookUp(ledger, repeatable) : shared.claim(repeatable)).catch((bug: unknown) => {
    answer.drop()
    throw bug
  })
  if (found.kind === 'claimed') {
    const idempotency = { headerHash, bodyHash, expiresAt: now() + ANSWER_TTL_MS }
    return { idempotency, answer: shared === undefined ? answer : keptForAll(answer, shared, repeatable) }
  }
  answer.drop()
  return answerTo(found, bodyHex)
}

async function lookUp(ledger: ClaimParts['ledger'], { keyId, headerHash, bodyHash }: Repeatable): Promise<ClaimFound> {
  const use = await ledger.findIdempotency(keyId, headerHash)
  if (use === undefined) return { kind: 'claimed' }
  if (use === 'unavailable') return { kind: 'unavailable' }
  return { kind: 'used', isSame: Buffer.compare(use.bodyHash, bodyHash) === 0, requestId: use.requestId, answer: undefined }
}

function answerTo(found: Exclude<ClaimFound, { kind: 'claimed' }>, bodyHash: string): FinishedAnswer | Refusal {
  if (found.kind === 'unavailable') return new Refusal('storageUnavailable')
  if (!found.isSame) return OTHER_BODY()
  if (found.kind === 'running') return new Refusal('repetitionRunning')
  const { requestId, answer } = found
  if (answer === undefined) return gone(requestId)
  return { kind: 'finished', bodyHash, head: { status: answer.status, contentType: answer.contentType, requestId }, bytes: answer.bytes }
}

/** Once it has ended here, it ends for the other nodes. */
function keptForAll(answer: RecordedAnswer, shared: SharedAnswers, repeatable: Repeatable): RecordedAnswer {
  let isRunning = true
  const end = (say: () => void): void => {
    if (isRunning) say()
    isRunning = false
  }
  return {
    add: (bytes) => answer.add(bytes),
    finish(head) {
      const bytes = answer.finish(head)
      end(() => shared.keep(repeatable, bytes && { ...head, bytes }))
      return bytes
    },
    drop() {
      answer.drop()
      end(() => shared.release(repeatable))
    },
  }
}

/** The answer is whole, or as whole as it will be. */
export function endClaim(claim: Claim | undefined, outcome: Outcome, kept: Kept, head: AnswerHead): void {
  if (kept !== 'unavailable' && usesUp(outcome, kept.costPicos)) claim?.answer.finish(head)
  else claim?.answer.drop()
}

/** The answer once more, under the first one's id. */
export const replay = ({ head, bytes }: FinishedAnswer, corsOrigins: readonly string[], origin: string | null): Response =>
  new Response(bytes as Uint8Array<ArrayBuffer>, {
    status: head.status,
    headers: {
      'content-type': head.contentType,
      'cache-control': 'no-store',
      'idempotency-replayed': 'true',
      ...answerHeaders(head.requestId, corsOrigins, origin),
    },
  })

const OTHER_BODY = (): Refusal => invalid(NAME, 'was used with another request; send each request under a key of its own')

/** It was charged: to generate it once more would be a second charge. */
const gone = (requestId: string): Refusal =>
  new Refusal('invalidRequest', { message: `${NAME} was used by request ${requestId}, whose answer is no longer kept` })

const sha256 = (text: string): Buffer => new Bun.CryptoHasher('sha256').update(text).digest()

/** What makes a request the same one. A body may have 32 MiB, so it is hashed beside the loop. */
async function requestText(headers: Headers, url: string, body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>)
  const names = HEADERS_THAT_MATTER.map((name) => headers.get(name) ?? '')
  return [pathOf(url) + nativeQueryOf(url), ...names, Buffer.from(digest).toString('hex')].join('\n')
}
