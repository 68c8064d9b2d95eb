/**
 * Hashing a password takes memory and 35 ms of a core on purpose, and tests do it five hundred times: here it costs next to nothing. Runs before every test file.
 * What the product asks for is looked at in test/people/password.test.ts.
 */

type Hash = typeof Bun.password.hash
const CHEAP = { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 } as const

const isCheap = Symbol.for('tollgate: passwords are cheap')
const { hash } = Bun.password
if (!(isCheap in hash)) Bun.password.hash = Object.assign<Hash, object>((password) => hash(password, CHEAP), { [isCheap]: true })
