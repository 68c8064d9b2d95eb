/**
 * The ends of the accounts' chains in the writer's memory, so that a receipt's place and hash are made without a read. After a rollback the ends are forgotten and
 * read again. Rules: ledger.md "Chain".
 */

import { asBytes } from '../../core/bytes/json-bytes.ts'
import type { PriceVersion } from '../columns/parts.ts'
import { factsOfGiven, privateOfGiven, type RoundedReceipt } from '../columns/receipt.ts'
import type { ChainPlace } from '../sql/chain-place.ts'
import type { Statements } from '../sql/statements.ts'
import type { Debit } from '../task.ts'
import { NO_HASH, ownerText, priceText, privateText, receiptHash } from './chain.ts'

type Head = { count: number; hash: string; blob: Uint8Array | null; readonly owner: Uint8Array }

/** Place and hash of the next row of a chain. */
export type Link = Readonly<{ seq: number; hash: Uint8Array }>

/** When more accounts, or keys, than this are known, all are forgotten, and each is read again when it is needed. */
const KNOWN_MAX = 20_000

export class ChainHeads {
  readonly #place: ChainPlace
  readonly #statements: Pick<Statements, 'salt'>
  /** Read with the first receipt and not before, because a process may become a node again while its storage is away. */
  #salt: string | undefined
  readonly #bootId: string
  readonly #heads = new Map<number, Head>()
  readonly #keys = new Map<number, string>()
  readonly #prices = new Map<PriceVersion, Uint8Array>()

  constructor(statements: Statements, bootId: string) {
    this.#place = statements.chain
    this.#statements = statements
    this.#bootId = bootId
  }

  /** Reads the ends and the key ids that are not known yet, all at once. */
  learn(debits: readonly Readonly<{ accountNumber: number; keyNumber: number }>[]): void {
    const accounts = new Set<number>()
    const keys = new Set<number>()
    for (const { accountNumber, keyNumber } of debits) {
      if (!this.#heads.has(accountNumber)) accounts.add(accountNumber)
      if (!this.#keys.has(keyNumber)) keys.add(keyNumber)
    }
    if (accounts.size > 0) this.#learnHeads([...accounts])
    if (keys.size > 0) this.#learnKeys([...keys])
  }

  /** The receipt's link in the chain of its account. It joins the chain with `append`. */
  linkOf(debit: Debit, price: PriceVersion, rounded: RoundedReceipt): Link {
    const head = this.#headOf(debit.accountNumber)
    const seq = head.count + 1
    this.#salt ??= saltOf(this.#statements)
    const secret = privateText(this.#salt, privateOfGiven(debit, this.#bootId, rounded))
    const facts = factsOfGiven(debit, rounded, seq)
    const hash = receiptHash(head.hash, facts, head.owner, this.#keyOf(debit.keyNumber), this.#priceOf(price), secret)
    return { seq, hash }
  }

  append(account: number, { seq, hash }: Link): void {
    const head = this.#headOf(account)
    head.count = seq
    head.blob = hash
    head.hash = hash.toHex()
  }

  /** The end of the account's chain, for the account's row. */
  endOf(account: number): Readonly<{ count: number; blob: Uint8Array | null }> {
    return this.#headOf(account)
  }

  /** To be called when rows were rolled back, or when another process wrote some. */
  forget(): void {
    this.#heads.clear()
  }

  /** To be called between transactions, when the rows have everything that is known here. */
  makeRoom(): void {
    if (this.#heads.size > KNOWN_MAX) this.#heads.clear()
    if (this.#keys.size > KNOWN_MAX) this.#keys.clear()
  }

  #headOf(account: number): Head {
    const known = this.#heads.get(account)
    if (known !== undefined) return known
    this.#learnHeads([account])
    const head = this.#heads.get(account)
    if (head === undefined) throw new Error('a receipt of an account that is not there')
    return head
  }

  #learnHeads(accounts: readonly number[]): void {
    const { lane } = this.#place
    for (const { account, id, count, hash } of this.#place.headsOf(accounts)) {
      this.#heads.set(account, { count, hash: hash?.toString('hex') ?? NO_HASH, blob: hash, owner: asBytes(ownerText(id, lane)) })
    }
  }

  #keyOf(number: number): string {
    const known = this.#keys.get(number)
    if (known !== undefined) return known
    this.#learnKeys([number])
    return this.#keys.get(number) ?? ''
  }

  #learnKeys(numbers: readonly number[]): void {
    for (const { key, id } of this.#place.keyIdsOf(numbers)) this.#keys.set(key, id)
  }

  #priceOf(version: PriceVersion): Uint8Array {
    const known = this.#prices.get(version)
    if (known !== undefined) return known
    const price = asBytes(priceText(version.modelId, version.rates))
    this.#prices.set(version, price)
    return price
  }
}

export function saltOf(statements: Pick<Statements, 'salt'>): string {
  const salt = statements.salt.get()?.value
  if (salt === undefined) throw new Error('the ledger has no salt')
  return salt
}
