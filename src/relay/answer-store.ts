/**
 * The store of one request's Idempotency-Key: looks up whether the key was used, and keeps the answer beyond this process's memory, in the ledger and a file beside it,
 * or on Postgres with other nodes. Kept answers are sealed by the secret of the key that asked. Rules: requests.md "Repeated requests", "Kept answers".
 */

import { headOf, type Opened, partsOf } from '../answers/layout.ts'
import { nameOf, Sealer, type SealingKey, unseal } from '../answers/sealing.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type {
  ClaimFound,
  FollowAsk,
  FollowReply,
  KeptElsewhere,
  Repeatable,
  SharedAnswers,
  SharedClaims,
} from '../ledger/shared-answers.ts'
import { ANSWER_TTL_MS } from './idempotent-responses.ts'
import type { AnswerHead, FinishedAnswer } from './running-answer.ts'

/** The end of a claim; `bytes` is undefined where the answer had no room. `isStored`: whether it may be written to a disk. */
type EndedAnswer = Readonly<{ head: AnswerHead; bytes: Uint8Array | undefined; isStored: boolean }>
type KeptAnswer = Pick<FinishedAnswer, 'head' | 'bytes'>

/**
 * claimed: the caller ends the claim by `keep` or `release` · running: in another process · used: `requestId` used the header, and was charged. `isSame`: it is the
 * same request, sent again.
 */
export type StoreFound =
  | Exclude<ClaimFound, { kind: 'used' }>
  | Readonly<{ kind: 'used'; isSame: boolean; requestId: string; answer: KeptAnswer | undefined }>

/** Asks the relay that runs the request. */
export type Follow = (ask: Pick<FollowAsk, 'follower' | 'owner' | 'places' | 'at'>) => Promise<FollowReply>

export interface AnswerStore {
  /** Present among relays of one ledger process: there a stream that runs can be followed. */
  readonly follow?: Follow
  claim(): Promise<StoreFound>
  isRunning(): Promise<boolean>
  /** Keeps the answer and ends the claim; the caller does not wait. */
  keep(ended: EndedAnswer): void
  release(): void
  /** To be called instead of `release` where it is not known whether the request was charged: a repetition must not be charged, too. */
  doubt(): void
}

type Asker = Readonly<{ accountId: string; key: SealingKey; repeatable: Repeatable }>

/** The store of a single process: its memory knows the running claims. Without `kept` an answer lasts as long as memory has it. */
export function storeInLedger(
  { ledger, kept, now }: Readonly<{ ledger: Pick<Ledger, 'findIdempotency'>; kept: KeptElsewhere | undefined; now: () => number }>,
  { accountId, key, repeatable: { keyId, headerHash, bodyHash } }: Asker,
): AnswerStore {
  return {
    async claim() {
      const use = await ledger.findIdempotency(keyId, headerHash)
      if (use === undefined) return { kind: 'claimed' }
      if (use === 'unavailable') return { kind: 'unavailable' }
      const { requestId } = use
      if (Buffer.compare(use.bodyHash, bodyHash) !== 0) return { kind: 'used', isSame: false, requestId, answer: undefined }
      const found = (await kept?.find(key, idOf(requestId))) ?? 'unknown'
      if (found === 'unavailable') return { kind: 'unavailable' }
      return { kind: 'used', isSame: true, requestId, answer: typeof found === 'string' ? undefined : answerOf(found, requestId) }
    },
    isRunning: async () => false,
    keep({ head, bytes, isStored }) {
      if (bytes === undefined) return
      const id = idOf(head.requestId)
      const expiresAt = now() + ANSWER_TTL_MS
      const answer = { key, accountId, id, items: [], expiresAt, text: textOf(head), parts: [{ pieces: [bytes] }] }
      if (isStored) kept?.keep(answer)
      else kept?.keepUnwritten?.(answer)
    },
    release: () => undefined,
    // The next look stands behind the settle.
    doubt: () => undefined,
  }
}

/** The store of a relay: claims of running requests are in the ledger process, and a claim ends only after its answer was kept. */
export function storeAmongRelays(claims: SharedClaims, { repeatable }: Pick<Asker, 'repeatable'>, store: AnswerStore): AnswerStore {
  const release = (): void => claims.release(repeatable)
  return {
    async claim() {
      const claimed = await claims.claim(repeatable)
      if (claimed.kind !== 'claimed') return claimed
      const found = await store.claim()
      if (found.kind !== 'claimed') release()
      return found
    },
    isRunning: () => claims.isRunning(repeatable),
    follow: (ask) => claims.follow(repeatable, ask),
    keep(ended) {
      store.keep(ended)
      release()
    },
    release,
    // The ledger process ends the claim, and looks for what was charged behind the settle.
    doubt: release,
  }
}

/** The store on Postgres. `onBug`: called when an answer could not be sealed. */
export function storeWithOthers(shared: SharedAnswers, { key, repeatable }: Asker, onBug: (bug: unknown) => void): AnswerStore {
  return {
    async claim() {
      const found = await shared.claim(repeatable)
      if (found.kind !== 'used') return found
      const { requestId, answer } = found
      const opened = answer === undefined ? undefined : unseal(key, nameOf(key, idOf(requestId)), answer.bytes)
      return { ...found, answer: opened === undefined ? undefined : answerOf(partsOf(opened), requestId) }
    },
    isRunning: () => shared.isRunning(repeatable),
    keep({ head, bytes, isStored }) {
      if (bytes === undefined || !isStored) return shared.keep(repeatable, undefined)
      sealInTurns(key, head, bytes).then(
        (sealed) => shared.keep(repeatable, { ...SEALED, bytes: sealed }),
        (bug: unknown) => {
          shared.keep(repeatable, undefined)
          onBug(bug)
        },
      )
    },
    release: () => shared.release(repeatable),
    // A settle that was sent may still reach the server, later than what another session says: the claim runs out by itself.
    doubt: () => undefined,
  }
}

/** The plain part of a sealed row. A node of an older version, which encrypts nothing, would send the row as the answer: the 503 makes its client try again. */
const SEALED = { status: 503, contentType: 'application/octet-stream' } as const

/** A large answer is encrypted in parts of this size, since all of it would hold the loop for a millisecond. */
const TURN_BYTES = 1024 * 1024

async function sealInTurns(key: SealingKey, head: AnswerHead, bytes: Uint8Array): Promise<Uint8Array> {
  const sealer = new Sealer(key, nameOf(key, idOf(head.requestId)))
  sealer.add(headOf(textOf(head), [bytes]))
  for (let at = 0; at < bytes.byteLength; at += TURN_BYTES) {
    if (at > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    sealer.add(bytes.subarray(at, at + TURN_BYTES))
  }
  return sealer.end()
}

/** Differs from the names of kept responses. */
const idOf = (requestId: string): string => `request ${requestId}`

type Told = Omit<AnswerHead, 'requestId'>
const textOf = ({ status, contentType }: AnswerHead): string => JSON.stringify({ status, contentType } satisfies Told)

function answerOf({ text, parts: [part] }: Opened, requestId: string): KeptAnswer | undefined {
  const told: Told = JSON.parse(text)
  return part && { head: { ...told, requestId }, bytes: part.bytes }
}
