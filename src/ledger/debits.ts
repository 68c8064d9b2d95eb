/**
 * Debits of a group: one insert a receipt; account, key and day each updated once with the sums. Rules: ledger.md "Group commit"; a debit's cost is a row of
 * bench/ledger.bench.ts. Runs inside the caller's transaction: what breaks a rule of the database is thrown, and the caller rolls back.
 */

import { costOf } from '../core/pricing.ts'
import { NO_USAGE, type Usage } from '../core/usage.ts'
import { dayAt } from '../core/utc.ts'
import { ChainHeads } from './chain-heads.ts'
import type { Idempotency } from './ledger.ts'
import type { Numbers } from './numbers.ts'
import type { Statements } from './statements.ts'
import type { Calls, Debit, Mark, PriceVersion } from './task.ts'

type Sums = {
  readonly key: number
  readonly day: number
  readonly price: number
  requests: number
  cost: bigint
  waived: bigint
  estimated: bigint
} & { -readonly [Counter in keyof Usage]: number }

type KeySums = { cost: bigint; at: number }

/** The sums of the receipts that were written since the last `flush`. */
export class Debits {
  readonly #statements: Statements
  readonly #numbers: Numbers
  readonly #boot: number
  readonly #heads: ChainHeads
  readonly #accounts = new Map<number, bigint>()
  readonly #keys = new Map<number, KeySums>()
  /** By key, price and day; a group rarely has more than one of a key. */
  readonly #usage: Sums[] = []

  constructor(statements: Statements, numbers: Numbers, boot: Readonly<{ number: number; id: string }>) {
    this.#statements = statements
    this.#numbers = numbers
    this.#boot = boot.number
    this.#heads = new ChainHeads(statements, boot.id)
  }

  /** False: the request has a receipt already; nothing was written. */
  insert(debit: Debit): boolean {
    const version = this.#numbers.versionAt(debit.price)
    return this.#insert(debit, this.#numbers.priceOf(version), version, dayAt(debit.now))
  }

  /** The receipt of a request whose process died: it counts for the day on which it began. Its price is that of its mark. */
  insertRecovered(debit: Debit, version: PriceVersion): boolean {
    return this.#insert(debit, debit.price, version, dayAt(debit.startedAt))
  }

  putMark({ requestId, keyNumber, price, format, isStream, holdPicos, startedAt, usage, usageSource, ...more }: Mark, now: number): void {
    const { upstream, bytesPerToken, accountNumber, otherAttempts } = more
    if (otherAttempts !== undefined) this.insertAttempts({ requestId, accountNumber, keyNumber, price, attempts: otherAttempts })
    this.#statements.putMark.run(
      requestId,
      keyNumber,
      this.#numbers.priceAt(price),
      this.#boot,
      this.#numbers.upstreamOf(upstream),
      upstream?.messageId ?? null,
      upstream?.requestId ?? null,
      format,
      isStream ? 1 : 0,
      holdPicos,
      startedAt,
      now,
      usageSource,
      thousandths(bytesPerToken),
      ...countersOf(usage),
    )
  }

  #insert(debit: Debit, price: number, version: PriceVersion, day: number): boolean {
    const { keyNumber, accountNumber, usage, costPicos, waivedPicos, upstream } = debit
    const bytesPerTokenThousandths = thousandths(debit.bytesPerToken)
    const firstByteMs = debit.firstByteMs === null ? null : wholeMs(debit.firstByteMs)
    const durationMs = wholeMs(debit.durationMs)
    const link = this.#heads.linkOf(debit, version, { day, bytesPerTokenThousandths, firstByteMs, durationMs })
    const { changes } = this.#statements.insertReceipt.run(
      debit.requestId,
      accountNumber,
      keyNumber,
      price,
      this.#boot,
      this.#numbers.upstreamOf(upstream),
      upstream?.messageId ?? null,
      upstream?.requestId ?? null,
      debit.attempts ?? 1,
      debit.format,
      debit.isStream ? 1 : 0,
      debit.outcome,
      debit.usageSource,
      bytesPerTokenThousandths,
      debit.status,
      ...countersOf(usage),
      costPicos,
      waivedPicos,
      debit.holdPicos,
      debit.sessionHash ?? null,
      debit.startedAt,
      debit.now,
      day,
      firstByteMs,
      durationMs,
      link.seq,
      link.hash,
    )
    if (debit.isMarked) this.#statements.deleteMark.run(debit.requestId)
    if (changes === 0) return false
    this.#heads.append(accountNumber, link)
    if (debit.otherAttempts !== undefined) this.insertAttempts({ ...debit, attempts: debit.otherAttempts })
    if (debit.idempotency !== undefined) this.#putIdempotency(debit, debit.idempotency)
    this.#accounts.set(accountNumber, (this.#accounts.get(accountNumber) ?? 0n) + costPicos)
    this.#addToKey(keyNumber, costPicos, debit.now)
    this.#addToUsage(this.#sumsOf(keyNumber, day, price), debit)
    return true
  }

  /** One that is recorded already stays as it is. */
  insertAttempts({ requestId, accountNumber, keyNumber, price, attempts }: Calls): void {
    const { rates } = this.#numbers.versionAt(price)
    for (const { number, upstream, status, cause, usageSource, usage, startedAt, durationMs } of attempts) {
      this.#statements.insertAttempt.run(
        requestId,
        number,
        accountNumber,
        keyNumber,
        this.#numbers.priceAt(price),
        this.#boot,
        this.#numbers.upstreamOf(upstream),
        upstream.messageId ?? null,
        upstream.requestId ?? null,
        status,
        cause,
        usageSource,
        ...countersOf(usage),
        costOf(usage, rates),
        startedAt,
        wholeMs(durationMs),
      )
    }
  }

  #putIdempotency({ keyNumber, requestId, now }: Debit, { headerHash, bodyHash, expiresAt }: Idempotency): void {
    this.#statements.putIdempotency.run(keyNumber, headerHash, bodyHash, requestId, expiresAt, now)
  }

  /** Writes the sums. */
  flush(): void {
    const { debitAccount, debitKey, addUsage } = this.#statements
    for (const [account, cost] of this.#accounts) {
      const { count, blob } = this.#heads.endOf(account)
      debitAccount.run(account, cost, count, blob)
    }
    for (const [key, { cost, at }] of this.#keys) debitKey.run(key, cost, at)
    for (const { key, day, price, requests, cost, waived, estimated, ...usage } of this.#usage) {
      addUsage.run(key, day, price, requests, ...countersOf(usage), cost, waived, estimated)
    }
    this.#dropSums()
  }

  /** The receipts were rolled back: drops the sums, and where the chains ended. */
  forget(): void {
    this.#dropSums()
    this.#heads.forget()
  }

  /** Others may have written to the accounts: the ends of their chains are read again. Nothing of the group is without its sums. */
  reread(): void {
    this.#heads.forget()
  }

  /** Between transactions. */
  committed(): void {
    this.#heads.makeRoom()
  }

  #dropSums(): void {
    this.#accounts.clear()
    this.#keys.clear()
    this.#usage.length = 0
  }

  #addToKey(key: number, cost: bigint, at: number): void {
    const sums = this.#keys.get(key)
    if (sums === undefined) this.#keys.set(key, { cost, at })
    else {
      sums.cost += cost
      if (at > sums.at) sums.at = at
    }
  }

  #sumsOf(key: number, day: number, price: number): Sums {
    // From the end: neighbours are most often alike.
    for (let index = this.#usage.length - 1; index >= 0; index--) {
      const sums = this.#usage[index]
      if (sums?.key === key && sums.day === day && sums.price === price) return sums
      if (this.#usage.length - index >= LOOKS_BACK_MAX) break
    }
    const sums: Sums = { key, day, price, requests: 0, ...NO_SUMS }
    this.#usage.push(sums)
    return sums
  }

  #addToUsage(sums: Sums, { usage, usageSource, costPicos, waivedPicos }: Debit): void {
    sums.requests++
    sums.input += usage.input
    sums.output += usage.output
    sums.cacheRead += usage.cacheRead
    sums.cacheWrite5m += usage.cacheWrite5m
    sums.cacheWrite1h += usage.cacheWrite1h
    sums.serverToolUses += usage.serverToolUses
    sums.cost += costPicos
    sums.waived += waivedPicos
    if (usageSource === 'estimated') sums.estimated += costPicos
  }
}

/** Beyond so many others in between, a key's sums are written in two parts. */
const LOOKS_BACK_MAX = 64
const NO_SUMS = { ...NO_USAGE, cost: 0n, waived: 0n, estimated: 0n }

/** In the order of the statements' columns. */
const countersOf = (usage: Usage): readonly [number, number, number, number, number, number] => [
  usage.input,
  usage.output,
  usage.cacheRead,
  usage.cacheWrite5m,
  usage.cacheWrite1h,
  usage.serverToolUses,
]

/** Durations are measured by a clock with fractions. */
const wholeMs = (durationMs: number): number => Math.max(0, Math.round(durationMs))
const thousandths = (bytesPerToken: number | undefined): number | null =>
  bytesPerToken === undefined ? null : Math.round(bytesPerToken * 1000)
