/**
 * Requests that run under an Idempotency-Key, over all relays, in the memory of the ledger process. A claim ends with its request, or with its relay.
 * Rules: requests.md "Repeated requests"; processes.md "Shared".
 */

/** A request with an Idempotency-Key: its key, and the hashes of header and body in hexadecimal. */
export type Running = Readonly<{ keyId: string; header: string; body: string }>

type Claim = Readonly<{ boot: number; body: string }>

export class RelayClaims {
  readonly #claims = new Map<string, Claim>()

  join(boot: number, claims: readonly Running[]): void {
    this.leave(boot)
    for (const { keyId, header, body } of claims) this.#claims.set(nameOf(keyId, header), { boot, body })
  }

  leave(boot: number): void {
    for (const [name, claim] of this.#claims) if (claim.boot === boot) this.#claims.delete(name)
  }

  claim(boot: number, { keyId, header, body }: Running): Readonly<{ kind: 'claimed' } | { kind: 'running'; isSame: boolean }> {
    const name = nameOf(keyId, header)
    const running = this.#claims.get(name)
    if (running !== undefined) return { kind: 'running', isSame: running.body === body }
    this.#claims.set(name, { boot, body })
    return { kind: 'claimed' }
  }

  isRunning(keyId: string, header: string): boolean {
    return this.#claims.has(nameOf(keyId, header))
  }

  /** The boot of the relay that has the claim; undefined also where its request has another body. */
  ownerOf({ keyId, header, body }: Running): number | undefined {
    const claim = this.#claims.get(nameOf(keyId, header))
    return claim?.body === body ? claim.boot : undefined
  }

  release(boot: number, keyId: string, header: string): void {
    const name = nameOf(keyId, header)
    if (this.#claims.get(name)?.boot === boot) this.#claims.delete(name)
  }
}

const nameOf = (keyId: string, header: string): string => `${keyId} ${header}`
