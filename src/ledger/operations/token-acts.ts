/** A write over a token: the token must live at its commit, and under an Idempotency-Key the write is done once. Rules: operator-api.md "Tokens", "Writes". */

import { tokenStateOf } from '../../core/api-token.ts'
import { type ByToken, type Earlier, ONCE_MS, type Once, type Operation } from '../operation.ts'
import { refused, UNCHANGED, type UncommittedResult } from './operation-result.ts'
import type { Writing } from './writing.ts'

export function performByToken(
  { statements, now }: Writing,
  { tokenId, once }: ByToken,
  operation: Operation,
  perform: () => UncommittedResult,
): UncommittedResult {
  const token = statements.tokenById.get({ tokenId })
  if (operation.kind === 'refuseReload') {
    // It takes back what was written, so it holds also where the token was revoked meanwhile; what was refused leaves the header free.
    if (token !== undefined && once !== null) statements.dropApiWrite.run({ token: token.number, ...hashesOf(once) })
    return perform()
  }
  if (token === undefined || tokenStateOf(token, now) !== 'live')
    return { ...refused('the token is revoked or has expired'), what: 'token' }
  if (once === null) return perform()
  const { headerHash, requestHash } = hashesOf(once)
  const earlier = statements.apiWriteOf.get({ token: token.number, headerHash, now })
  if (earlier !== undefined) {
    if (requestHash.equals(earlier.requestHash))
      return { ...UNCHANGED, repeats: { target: earlier.target, at: earlier.expiresAt - ONCE_MS } }
    return { ...refused('it was used by another request'), what: 'Idempotency-Key' }
  }
  if (once.isBarred === true) return refused('it may not be done now')
  const done = perform()
  if (done.result === 'refused') return done
  const { number } = token
  statements.putApiWrite.run({
    token: number,
    headerHash,
    requestHash,
    target: targetOf(operation, done.earlier),
    expiresAt: once.expiresAt,
  })
  statements.forgetApiWrites.run({ token: number, now })
  return done
}

const hashesOf = ({ headerHash, requestHash }: Once) => ({ headerHash: Buffer.from(headerHash), requestHash: Buffer.from(requestHash) })

/** The id of what the write made or changed, by which a repetition finds it; '': it has none. */
function targetOf(operation: Operation, earlier: Earlier | undefined): string {
  switch (operation.kind) {
    case 'createAccount':
      return earlier?.accountId ?? operation.accountId
    case 'credit':
    case 'redeemCode':
      return earlier?.creditId ?? operation.creditId
    default:
      if ('keyId' in operation && operation.keyId !== null) return operation.keyId
      if ('batchId' in operation) return operation.batchId
      if ('accountId' in operation) return operation.accountId ?? ''
      return ''
  }
}
