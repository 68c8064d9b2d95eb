/**
 * Throws away the body of a request that was refused before it was read: a client that is still sending would otherwise see a reset instead of the answer.
 * Rules: requests.md "Bodies"; platform.md "Bun's server".
 */

export type DiscardBounds = Readonly<{
  /** Beyond these a client that keeps sending is cut off. */
  bytesMax: number
  totalMs: number
  /** A client that has been silent for this long is waiting for the answer. */
  idleMs: number
}>

const DISCARD_BOUNDS: DiscardBounds = { bytesMax: 128 * 1024 * 1024, totalMs: 30_000, idleMs: 3_000 }

/** Sends the refusal once the client has sent its body. A client whose body does not end gets it, too, and loses its connection. */
export async function refuseAfterBody(request: Request, refuse: () => Response): Promise<Response> {
  const isEnded = await discardBody(request)
  const response = refuse()
  if (!isEnded) response.headers.set('connection', 'close')
  return response
}

/** Reads what is left of a body into nothing. False: the client had not sent all of it. Never rejects; a body that has another reader is left alone. */
export async function discardBody(request: Request, bounds: DiscardBounds = DISCARD_BOUNDS): Promise<boolean> {
  if (request.body === null || request.body.locked) return true
  const reader = request.body.getReader()
  let isCutOff = false
  const cutOff = (): void => {
    isCutOff = true
    reader.cancel().catch(() => undefined)
  }
  const total = setTimeout(cutOff, bounds.totalMs)
  const idle = setTimeout(cutOff, bounds.idleMs)
  try {
    let length = 0
    for (let read = await reader.read(); !read.done && length < bounds.bytesMax; read = await reader.read()) {
      length += read.value.byteLength
      idle.refresh()
    }
    return !isCutOff && length < bounds.bytesMax
  } catch {
    // The client is gone: there is nothing to answer.
    return true
  } finally {
    clearTimeout(total)
    clearTimeout(idle)
    reader.releaseLock()
  }
}
