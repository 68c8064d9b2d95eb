/** Leases on Postgres for the walks of lease-walk.ts: the functions of db/postgres/migrations, next to the model, which must say and have the same. */

import { expect } from 'bun:test'
import type { LeaseAnswer, LeaseAsk, LeaseMove } from '../../src/ledger/lease-move.ts'
import type { PostgresConnection } from '../../src/ledger/postgres/connection.ts'
import { moveLeases } from '../../src/ledger/postgres/leases.ts'
import { type LeaseDatabase, LeaseModel } from './lease-model.ts'
import type { WalkSetting } from './lease-walk.ts'

type Identity = Readonly<{ lane: number; boot: number; epoch: number }>

/** Accounts and keys of its own in a database that other walks use as well, one after the other. */
export class LeasePostgres implements LeaseDatabase {
  readonly #db: PostgresConnection
  readonly #model: LeaseModel
  readonly #identities = new Map<number, Identity>()
  /** Numbers of the walk begin at 1. */
  readonly #accountsBefore: number
  readonly #keysBefore: number
  readonly #accounts: number

  constructor(db: PostgresConnection, { nodes, balances, limits }: WalkSetting) {
    this.#db = db
    this.#model = new LeaseModel(nodes, balances, limits)
    this.#accounts = balances.length
    db.run('UPDATE nodes SET lease_until = 1 WHERE lease_until > 0; SELECT fence_expired(0)')
    for (let lane = 1; lane <= nodes; lane++) this.#identities.set(lane, this.#register())
    this.#accountsBefore = this.#greatest('accounts')
    this.#keysBefore = this.#greatest('keys')
    for (const balance of balances) {
      db.query("INSERT INTO accounts (id, name, credited_picos, balance_picos, created_at) VALUES (?1, '', ?2, ?2, 0)").run(
        newId(),
        balance,
      )
    }
    limits.forEach((limit, index) => {
      const account = this.#accountsBefore + 1 + (index % balances.length)
      db.query(
        "INSERT INTO keys (id, account_number, name, plan, limit_picos, last_synced_at, created_at) VALUES (?, ?, '', 'default', ?, 0, 0)",
      ).run(newId(), account, limit)
    })
  }

  move(lane: number, moves: readonly (LeaseAsk | LeaseMove)[]): readonly LeaseAnswer[] {
    const here = moves.map((move) => ({
      ...move,
      accountNumber: move.accountNumber + this.#accountsBefore,
      keyNumber: move.keyNumber === 0 ? 0 : move.keyNumber + this.#keysBefore,
    }))
    const answers = moveLeases(this.#db, this.#identity(lane), here).filter((answer) => answer !== undefined)
    expect(answers).toEqual([...this.#model.move(lane, moves)])
    this.#compare()
    return answers
  }

  /** As settle.sql does it. */
  settle(lane: number, key: number, cost: bigint): void {
    const account = 1 + ((key - 1) % this.#accounts)
    const own = this.#identity(lane).lane
    this.#db.transaction(() => {
      const update = (text: string, ...given: readonly (bigint | number)[]) => this.#db.query(text).run(...given)
      update(
        'UPDATE accounts SET spent_picos = spent_picos + ?1, balance_picos = balance_picos - ?1 WHERE number = ?2',
        cost,
        account + this.#accountsBefore,
      )
      update('UPDATE keys SET spent_picos = spent_picos + ? WHERE number = ?', cost, key + this.#keysBefore)
      const lower = 'amount_picos = greatest(amount_picos - ?, 0)'
      update(`UPDATE leases SET ${lower} WHERE account_number = ? AND lane = ?`, cost, account + this.#accountsBefore, own)
      update(`UPDATE key_leases SET ${lower} WHERE key_number = ? AND lane = ?`, cost, key + this.#keysBefore, own)
    })()
    this.#model.settle(lane, key, cost)
  }

  credit(account: number, amount: bigint): void {
    this.#db
      .query('UPDATE accounts SET credited_picos = credited_picos + ?1, balance_picos = balance_picos + ?1 WHERE number = ?2')
      .run(amount, account + this.#accountsBefore)
    this.#model.credit(account, amount)
  }

  expire(lane: number): void {
    this.#db.query('UPDATE nodes SET lease_until = 1 WHERE lane = ?').run(this.#identity(lane).lane)
    this.#db.run('SELECT fence_expired(0)')
    this.#identities.set(lane, this.#register())
    this.#model.expire(lane)
    this.#compare()
  }

  balanceOf(account: number): bigint {
    return this.#model.balanceOf(account)
  }

  leftOf(key: number): bigint | undefined {
    return this.#model.leftOf(key)
  }

  leasesOf(what: 'account' | 'key', number: number): readonly Readonly<{ lane: number; amount: bigint }>[] {
    return this.#model.leasesOf(what, number)
  }

  #compare(): void {
    const rows = this.#db
      .query(
        `SELECT 'account' AS what, account_number - ?1 AS number, lane, amount_picos FROM leases WHERE account_number > ?1
         UNION ALL SELECT 'key', key_number - ?2, lane, amount_picos FROM key_leases WHERE key_number > ?2`,
      )
      .all(this.#accountsBefore, this.#keysBefore) as readonly Readonly<{
      what: 'account' | 'key'
      number: bigint
      lane: bigint
      amount_picos: bigint
    }>[]
    const laneOf = new Map([...this.#identities].map(([lane, identity]) => [identity.lane, lane]))
    for (const what of ['account', 'key'] as const) {
      const count = what === 'account' ? this.#accounts : Math.max(0, ...rows.map(({ number }) => Number(number)))
      for (let number = 1; number <= count; number++) {
        const found = rows
          .filter((row) => row.what === what && Number(row.number) === number)
          .map((row) => ({ lane: laneOf.get(Number(row.lane)) ?? -1, amount: row.amount_picos }))
          .sort((a, b) => a.lane - b.lane)
        expect(found).toEqual([...this.#model.leasesOf(what, number)])
      }
    }
  }

  #register(): Identity {
    const row = this.#db
      .query("SELECT own_lane AS lane, own_boot AS boot, own_epoch AS epoch FROM register_node('walk', ?, 1000000000)")
      .get(newId()) as Readonly<Record<keyof Identity, bigint>>
    return { lane: Number(row.lane), boot: Number(row.boot), epoch: Number(row.epoch) }
  }

  #greatest(table: 'accounts' | 'keys'): number {
    const { most } = this.#db.query(`SELECT coalesce(max(number), 0) AS most FROM ${table}`).get() as Readonly<{ most: bigint }>
    return Number(most)
  }

  #identity(lane: number): Identity {
    const identity = this.#identities.get(lane)
    if (identity === undefined) throw new Error(`no node ${lane}`)
    return identity
  }
}

const newId = (): string => crypto.randomUUID()
