/** Whether the tests that are being registered are those of files, or those of Postgres, which test/ledger/postgres/again.test.ts registers a second time. */

import { test } from 'bun:test'

let makeDatabase: (() => string) | undefined

/** For the tests that are registered from here on. `make`: the address of an empty ledger. */
export function usePostgres(make: () => string): void {
  makeDatabase = make
}

export const isOnPostgres = (): boolean => makeDatabase !== undefined
export const makeAddress = (): string | undefined => makeDatabase?.()

const noTest = Object.assign(() => undefined, { each: () => () => undefined }) as unknown as typeof test

/** A test of what only a file has, or can suffer: among those of Postgres it is none at all. */
export const fileTest = (): typeof test => (isOnPostgres() ? noTest : test)
