/** Whether the tests that are being registered are those of files, or those of Postgres, which test/ledger/postgres/again.test.ts registers a second time. */

import { test } from 'bun:test'

let makeDatabase: (() => string) | undefined

/** For the tests that are registered from here on. `make`: the address of an empty ledger. */
export function usePostgres(make: () => string): void {
  makeDatabase = make
}

export const isOnPostgres = (): boolean => makeDatabase !== undefined
export const makeAddress = (): string | undefined => makeDatabase?.()

/** A test of what only a file has, or can suffer. */
export const fileTest = (): typeof test => (isOnPostgres() ? (test.skip as typeof test) : test)
