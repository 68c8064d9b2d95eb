/** Operators and customers of a simulated world: accounts, keys, credits, codes and budgets, each act noted in the books as it is asked and as it is answered. Rules: ledger.md "Twice is once"; money.md "Budgets". */

import { picos } from '../../src/core/money.ts'
import { type Budgets, PERS } from '../../src/core/windows.ts'
import type { GroupCommit } from '../../src/ledger/admission/group-commit.ts'
import type { Operation, OperationResult } from '../../src/ledger/operation.ts'
import type { Random } from '../support/seed.ts'
import { type Books, must } from './books.ts'
import { drawFrom } from './draw.ts'
import type { Records } from './records.ts'
import type { VirtualTime } from './virtual-time.ts'
import { SET_BY, type WindowBooks } from './window-books.ts'

const ACCOUNTS = ['acc_0', 'acc_1']
const KEYS = 5
/** Of both plans an account has a key. */
const PLANS = ['default', 'small']
/** Most windows that begin are hours. */
const PERS_DRAWN = ['hour', 'hour', ...PERS] as const
const CODES = 40
const CODE_PICOS = picos(3_000_000_001n)
const codeHash = (n: number): Uint8Array => new Uint8Array(Bun.SHA256.hash(`code ${n}`).buffer)

/** `promise`: hears what is promised, unless the process dies before it. */
type Parts = Readonly<{
  random: Random
  time: VirtualTime
  books: Books
  plans: Map<string, Budgets>
  windows: WindowBooks
  records: Records
  ledger: () => GroupCommit
  meet: (what: string) => void
  say: (what: string) => void
  promise: <T>(promised: Promise<T>, hear: (said: T) => void) => void
}>

export class Operators {
  readonly #parts: Parts
  #acts = 0
  #secrets = 0
  #redeemed = 0
  /** By corrections, of all accounts together. */
  takenBack = 0n

  constructor(parts: Parts) {
    this.#parts = parts
  }

  step(): void {
    const keyId = drawFrom(this.#parts.random, [...this.#parts.books.keys.keys()])
    const accountId = this.#parts.books.accountOf(keyId)
    const key = this.#parts.books.keys.get(keyId)
    const account = this.#parts.books.accounts.get(accountId)
    if (key === undefined || account === undefined) return
    const now = this.#parts.time.now()
    const choice = this.#parts.random() * 7
    if (choice < 1.5) this.#topUp(accountId)
    else if (choice < 2) this.#redeem(accountId)
    else if (choice < 3) {
      const limitPicos = this.#parts.random() < 0.3 ? null : picos(BigInt(Math.floor(this.#parts.random() * 60_000_000)) * 1_000n)
      this.#act({ kind: 'setKeyLimit', keyId, limitPicos, now }, [accountId], () => Object.assign(key, { limitPicos }))
    } else if (choice < 4) {
      const isActive = this.#parts.random() < 0.7
      this.#act({ kind: 'setKeyActive', keyId, isActive, now }, [accountId], () => Object.assign(key, { isActive }))
    } else if (choice < 5) {
      const isActive = this.#parts.random() < 0.8
      this.#act({ kind: 'setAccountActive', accountId, isActive, now }, [accountId], () => Object.assign(account, { isActive }))
    } else if (choice < 6) {
      const secretHash = this.#secretHash()
      const operation = { kind: 'rotateKey', keyId, secretHash, display: 'sk-…next', oldValidUntil: now + 1_000, now } as const
      // By a clock that went back an old secret still counts, and there is no third one.
      this.#act(operation, [accountId], () => this.#parts.records.rotated(keyId, secretHash), true)
    } else {
      const expiresAt = this.#parts.random() < 0.6 ? null : now + Math.floor(this.#parts.random() * 3_000) - 500
      this.#act({ kind: 'setKeyExpiry', keyId, expiresAt, now }, [accountId], () => Object.assign(key, { expiresAt }))
    }
  }

  /** The customer's at most as large as the operator's, so that it is done unless another act comes between. */
  budget(keyId = drawFrom(this.#parts.random, [...this.#parts.books.keys.keys()])): void {
    const accountId = this.#parts.books.accountOf(keyId)
    const ofKey = this.#parts.random() < 0.6
    const [id, per, setBy] = [ofKey ? keyId : accountId, drawFrom(this.#parts.random, PERS_DRAWN), drawFrom(this.#parts.random, SET_BY)]
    const drawn = this.#parts.random() < 0.25 ? null : BigInt(Math.floor(this.#parts.random() * 80_000_000)) * 503n
    const most = setBy === 'customer' ? this.#parts.windows.capBy(id, per, 'operator') : undefined
    const cap = drawn !== null && most !== undefined && drawn > most ? most : drawn
    const of = { accountId, keyId: ofKey ? keyId : null, per, setBy } as const
    this.#parts.meet(`a budget of ${ofKey ? 'a key' : 'an account'} by ${setBy}`)
    this.#act(
      { kind: 'setBudget', ...of, capPicos: cap === null ? null : picos(cap), now: this.#parts.time.now() },
      [accountId],
      () => this.#parts.windows.set(id, per, setBy, cap),
      setBy === 'customer',
    )
  }

  /** Some of them twice, as the same or as another under the same reference: that counts once. Another amount under it is refused. */
  #topUp(accountId: string): void {
    const amountPicos = picos(BigInt(Math.floor(this.#parts.random() * 70_000_000) - 30_000_000) * 1_001n)
    if (amountPicos === 0n) return
    const creditId = `credit_${this.#acts}`
    const creditKind = amountPicos > 0n ? 'top-up' : 'correction'
    const operation = { kind: 'credit', creditKind, creditId, accountId, amountPicos, ref: creditId, now: this.#parts.time.now() } as const
    if (amountPicos < 0n) this.takenBack -= amountPicos
    this.#act(operation, [accountId], () => {
      const account = this.#parts.books.accounts.get(accountId)
      if (account !== undefined) account.creditedPicos += amountPicos
    })
    const choice = this.#parts.random()
    if (choice < 0.15) this.#act(operation, [accountId], () => undefined)
    else if (choice < 0.3) this.#act({ ...operation, creditId: `${creditId}_again` }, [accountId], () => undefined)
  }

  /** Each code by one account; some twice, as the same or as another act, which counts once. */
  #redeem(accountId: string): void {
    if (this.#redeemed >= CODES) return
    const operation = {
      kind: 'redeemCode',
      codeHash: codeHash(this.#redeemed++),
      accountId,
      creditId: `redeemed_${this.#acts}`,
      now: this.#parts.time.now(),
    } as const
    this.#parts.meet('a code is redeemed')
    this.#act(operation, [accountId], () => {
      const account = this.#parts.books.accounts.get(accountId)
      if (account !== undefined) account.creditedPicos += CODE_PICOS
    })
    const choice = this.#parts.random()
    if (choice < 0.2) this.#act(operation, [accountId], () => undefined)
    else if (choice < 0.4) this.#act({ ...operation, creditId: `${operation.creditId}_again` }, [accountId], () => undefined)
  }

  #act(operation: Operation, accountIds: readonly string[], apply: () => unknown, mayBeRefused = false): void {
    const act = { id: `act_${this.#acts++}`, accountIds, apply }
    this.#parts.books.acts.set(act.id, act)
    this.#parts.say(`${operation.kind} ${act.id}`)
    this.#parts.promise(this.#parts.ledger().operate(operation), ({ result }: OperationResult) => {
      this.#parts.books.acts.delete(act.id)
      this.#parts.say(`${act.id}: ${result}`)
      this.#parts.meet(`an act is ${result}`)
      must('what an operator may do is done', result !== 'refused' || mayBeRefused, () => act.id)
      if (result === 'done') apply()
      else this.#parts.books.indeterminateActs.set(act.id, act)
    })
  }

  /** Accounts with money, their keys, and codes that nobody has redeemed. */
  async found(settleDown: () => Promise<void>): Promise<void> {
    if (this.#parts.random() < 0.5)
      this.#parts.plans.set('small', [{ per: drawFrom(this.#parts.random, PERS), capPicos: picos(60_000_000_000n) }])
    const codes = Array.from({ length: CODES }, (_, n) => ({ codeHash: codeHash(n), display: 'TG-…test' }))
    const batch = { kind: 'createCodes', batchId: 'batch_0', name: '', amountPicos: CODE_PICOS, expiresAt: null, codes } as const
    this.#act({ ...batch, now: this.#parts.time.now() }, [], () => undefined)
    for (const accountId of ACCOUNTS) {
      this.#parts.books.accounts.set(accountId, { creditedPicos: 0n, isActive: true })
      this.#act({ kind: 'createAccount', accountId, name: '', topUp: null, now: this.#parts.time.now() }, [accountId], () => undefined)
      this.#topUp(accountId)
    }
    await settleDown()
    for (let n = 0; n < KEYS; n++) {
      const accountId = ACCOUNTS[n % ACCOUNTS.length] ?? ''
      const keyId = `key_${n}`
      const plan = PLANS[n % 3 === 2 ? 0 : 1] ?? ''
      const secretHash = this.#secretHash()
      const amountPicos = picos(BigInt(drawFrom(this.#parts.random, [10, 30, 70])) * 1_000_000_000n)
      const operation: Operation = {
        kind: 'createKey',
        keyId,
        secretHash,
        display: 'sk-…test',
        name: '',
        accountId,
        ownAccountId: '',
        plan,
        limitPicos: null,
        expiresAt: null,
        topUp: { creditId: `first_${n}`, amountPicos, ref: '' },
        now: this.#parts.time.now(),
      }
      this.#act(operation, [accountId], () => {
        this.#parts.records.rotated(keyId, secretHash)
        this.#parts.books.keys.set(keyId, { accountId, plan, limitPicos: null, isActive: true, expiresAt: null })
        const account = this.#parts.books.accounts.get(accountId)
        if (account !== undefined) account.creditedPicos += amountPicos
      })
      await settleDown()
      if (this.#parts.random() < 0.6) this.budget(keyId)
    }
  }

  #secretHash(): Uint8Array {
    return new Uint8Array(new Bun.CryptoHasher('sha256').update(`secret ${this.#secrets++}`).digest())
  }
}
