/** A password is kept as OWASP says: argon2id, 19 MiB, two passes. Rules: pages.md "People". */

import { expect, spyOn, test } from 'bun:test'
import { passwordHash } from '../../src/people/password.ts'

test('a password is hashed with the memory and the passes that OWASP names', async () => {
  using asked = spyOn(Bun.password, 'hash')
  expect(await passwordHash('correct horse battery')).toStartWith('$argon2id$v=19$')
  expect(asked.mock.calls).toEqual([['correct horse battery', { algorithm: 'argon2id', memoryCost: 19 * 1024, timeCost: 2 }]])
})
