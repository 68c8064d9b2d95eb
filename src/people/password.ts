/** How a password is kept: argon2id with the parameters that OWASP names (https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html). */

/** The shortest and the longest password. The longest bounds what hashing costs. */
export const PASSWORD_CHARS = { min: 10, max: 128 } as const

/** Takes 19 MiB of memory for some 40 ms, on another thread than the event loop. */
export const passwordHash = (password: string): Promise<string> =>
  Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 })
