/**
 * What the auditor expects beside the money: upstream calls, Idempotency-Keys, secrets, and chains that only grow. Rules: ledger.md "Attempts", "Chain".
 */

import type { Attempt, Idempotency } from '../../src/ledger/ledger.ts'
import type { Connection } from '../../src/ledger/sql/connection.ts'
import { must } from './books.ts'

/**
 * Of a request: the calls that its end named. `own`: the number of the one that is the receipt itself, where an upstream answered. `isSure`: its rows must be there once
 * nothing is under way; false where a process died that may not have written them.
 */
type Calls = { readonly others: readonly Attempt[]; readonly own: number | undefined; isSure: boolean }
type Use = Readonly<{ keyId: string; idempotency: Idempotency; now: number }>

type AttemptFound = Readonly<{ id: string; attempt: bigint; cause: string; price: bigint }>
type ReceiptFound = Readonly<{ id: string; attempts: bigint; outcome: string; basis: string }>
type UseFound = Readonly<{ key: string; header: string; id: string; expires: bigint }>
type SecretFound = Readonly<{ key: string; hash: string; until: bigint | null }>
type LinkFound = Readonly<{ account: string; seq: bigint; hash: string }>

export class Records {
  readonly #calls = new Map<string, Calls>()
  readonly #uses = new Map<string, Use>()
  readonly #secrets = new Map<string, string[]>()
  readonly #fenced = new Set<string>()
  readonly #chains = new Map<string, readonly string[]>()
  readonly #priceOf: (requestId: string, attempt: Attempt) => bigint

  /** `priceOf`: what an upstream call cost us, by the oracle. */
  constructor(priceOf: (requestId: string, attempt: Attempt) => bigint) {
    this.#priceOf = priceOf
  }

  began(requestId: string, others: readonly Attempt[]): void {
    this.#calls.set(requestId, { others, own: undefined, isSure: false })
  }

  ended(requestId: string, others: readonly Attempt[], own?: number): void {
    this.#calls.set(requestId, { others, own, isSure: !this.#fenced.has(requestId) })
  }

  used(requestId: string, use: Use): void {
    this.#uses.set(requestId, use)
  }

  rotated(keyId: string, secretHash: Uint8Array): void {
    this.#secrets.set(keyId, [...(this.#secrets.get(keyId) ?? []), hexOf(secretHash)])
  }

  /** Its node lost its lane: what it wrote is there, and what it did not is waived, with its calls or without. */
  fenced(requestId: string): void {
    const calls = this.#calls.get(requestId)
    if (calls !== undefined) calls.isSure = false
    this.#fenced.add(requestId)
  }

  /** What only the memory knew is gone. */
  processDied(): void {
    for (const calls of this.#calls.values()) calls.isSure = false
  }

  /** `isAllWritten`: nothing is under way. `isIndeterminate`: whether nobody knows if the secrets of a key were changed. */
  audit(db: Connection, isAllWritten: boolean, isIndeterminate: (keyId: string) => boolean): void {
    // Checkpoints are of partial figures, settles of final ones: so a settle that was waived is known from a checkpoint that was.
    const receipts = db
      .query<ReceiptFound, []>('SELECT request_id AS id, attempts, outcome, basis FROM receipts ORDER BY number')
      .all()
      .filter(({ id, outcome, basis }) => outcome !== 'recovered' || (this.#fenced.has(id) && basis === 'final'))
    this.#auditCalls(db, new Map(receipts.map((row) => [row.id, row])), isAllWritten)
    this.#auditUses(
      db,
      receipts.map(({ id }) => id),
    )
    this.#auditSecrets(db, isIndeterminate)
    this.#auditChains(db)
  }

  #auditCalls(db: Connection, receipts: ReadonlyMap<string, ReceiptFound>, isAllWritten: boolean): void {
    const rows = Map.groupBy(
      db.query<AttemptFound, []>('SELECT request_id AS id, attempt, cause, price_picos AS price FROM attempts').all(),
      ({ id }) => id,
    )
    for (const [id, found] of rows) {
      const calls = this.#calls.get(id)
      const receipt = receipts.get(id)
      for (const { attempt, cause, price } of found) {
        const other = calls?.others.find(({ number }) => number === Number(attempt))
        if (other !== undefined) must('a call costs what it used', price === this.#priceOf(id, other), () => `${id}, call ${attempt}`)
        else {
          must('a call is of its request', calls?.own === Number(attempt) && cause === 'storage', () => `${id}, call ${attempt}`)
          must('a call is on record once', receipt === undefined, () => `${id}, call ${attempt}`)
        }
      }
    }
    for (const [id, { others, own, isSure }] of this.#calls) {
      const receipt = receipts.get(id)
      const count = rows.get(id)?.length ?? 0
      if (receipt !== undefined) {
        must('a receipt comes with its calls', count === others.length, () => `${id}: ${count} of ${others.length}`)
        must('a receipt counts its calls', Number(receipt.attempts) === (own ?? others.length), () => id)
      } else if (isAllWritten && isSure) {
        const all = others.length + (own === undefined ? 0 : 1)
        must('a call without a receipt is on record', count === all, () => `${id}: ${count} of ${all}`)
      }
    }
  }

  /** In the order of the receipts: the first one has the header until it is over. */
  #auditUses(db: Connection, inOrder: readonly string[]): void {
    const holders = new Map<string, Readonly<{ id: string; expiresAt: number }>>()
    for (const id of inOrder) {
      const use = this.#uses.get(id)
      if (use === undefined) continue
      const name = `${use.keyId} ${hexOf(use.idempotency.headerHash)}`
      const holder = holders.get(name)
      if (holder === undefined || holder.expiresAt <= use.now) holders.set(name, { id, expiresAt: use.idempotency.expiresAt })
    }
    const rows = db
      .query<UseFound, []>(
        'SELECT k.id AS key, lower(hex(header_hash)) AS header, request_id AS id, i.expires_at AS expires FROM idempotency i JOIN keys k ON k.number = i.key_number',
      )
      .all()
    for (const { key, header, id, expires } of rows) {
      const holder = holders.get(`${key} ${header}`)
      must('a header is its first request’s', holder?.id === id && BigInt(holder.expiresAt) === expires, () => `${id}, not ${holder?.id}`)
    }
    must('a header that was used is known', rows.length === holders.size, () => `${rows.length} of ${holders.size}`)
  }

  #auditSecrets(db: Connection, isIndeterminate: (keyId: string) => boolean): void {
    const rows = Map.groupBy(
      db
        .query<SecretFound, []>(
          'SELECT k.id AS key, lower(hex(hash)) AS hash, valid_until AS until FROM key_secrets s JOIN keys k ON k.number = s.key_number',
        )
        .all(),
      ({ key }) => key,
    )
    for (const [keyId, found] of rows) {
      if (isIndeterminate(keyId))
        this.#secrets.set(
          keyId,
          [...found].sort((a, b) => Number(a.until === null) - Number(b.until === null)).map(({ hash }) => hash),
        )
      const secrets = this.#secrets.get(keyId) ?? []
      must(
        'a key has the secrets that it was given',
        found.length === secrets.length,
        () => `${keyId}: ${found.length}, not ${secrets.length}`,
      )
      const endless = found.filter(({ until }) => until === null).map(({ hash }) => hash)
      must('only the newest secret has no end', endless.length === 1 && endless[0] === secrets.at(-1), () => keyId)
    }
  }

  /** No gap, the end where the account says, and whatever was once seen in it stays as it was. */
  #auditChains(db: Connection): void {
    const links = Map.groupBy(db.query<LinkFound, []>(LINKS).all(), ({ account }) => account)
    for (const { account, seq, hash } of db.query<LinkFound, []>(HEADS).all()) {
      const chain = (links.get(account) ?? []).map((link, index) => {
        must('a chain has no gap', link.seq === BigInt(index + 1), () => `${account}: ${link.seq} at place ${index + 1}`)
        return link.hash
      })
      must('a chain ends where its account says', BigInt(chain.length) === seq && (chain.at(-1) ?? '') === hash, () => account)
      const before = this.#chains.get(account) ?? []
      must(
        'a chain only grows',
        before.every((link, index) => chain[index] === link),
        () => account,
      )
      this.#chains.set(account, chain)
    }
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const LINKS = `SELECT a.id || ' ' || l.lane AS account, l.seq, l.hash FROM (SELECT account_number, lane, seq, hex(hash) AS hash FROM receipts
  UNION ALL SELECT account_number, lane, seq, hex(hash) FROM credits) l JOIN accounts a ON a.number = l.account_number ORDER BY l.seq`
const HEADS = `SELECT a.id || ' ' || lane AS account, h.chain_count AS seq, coalesce(hex(h.chain_hash), '') AS hash
  FROM chain_heads h JOIN accounts a ON a.number = h.account_number`
