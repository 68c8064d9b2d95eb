/** A page's request to the gateway: its answer is loading, there, or failed with words for the person. An answer that comes after the question has changed is dropped. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** The result of a call by Eden. */
export type ApiResponse<T> = Readonly<{
  data: T | null
  error: Readonly<{ status: unknown; value: unknown }> | null
  response: Pick<Response, 'headers'>
}>

/** A route that answers with a whole `Response` refuses by it, and Eden gives that as an error. */
export type Found<T> = Exclude<NonNullable<T>, Response>

/** The type of a route's answer when it does not refuse. */
export type Got<Call extends (...args: never[]) => PromiseLike<Readonly<{ data: unknown }>>> = Found<Awaited<ReturnType<Call>>['data']>

/** `field`: the input that is wrong. `retryAfterS`: the seconds until another try. */
export type Failure = Readonly<{ status: number; message: string; field?: string; retryAfterS?: number }>

/** `value`: while loading, the answer before, so that nothing jumps. */
export type Loaded<T> =
  | Readonly<{ state: 'loading'; value: T | undefined }>
  | Readonly<{ state: 'ready'; value: T }>
  | Readonly<{ state: 'failed'; value: T | undefined; failure: Failure }>

export type AskResult<T> = Readonly<{ value: T; failure?: undefined } | { value?: undefined; failure: Failure }>

let unauthorized = (): void => undefined
/** Sets the function that is called when a request is answered 401, since the session has then ended. */
export function whenUnauthorized(happens: () => void): void {
  unauthorized = happens
}

/** An answer as a value: the document, or a failure. Nothing is thrown, even where no gateway answers. */
export async function ask<T>(question: PromiseLike<ApiResponse<T>>): Promise<AskResult<Found<T>>> {
  try {
    const { data, error, response } = await question
    if (error === null && data !== null && data !== undefined) return { value: data as Found<T> }
    if (error?.status === 401) unauthorized()
    return { failure: failureOf(error, response.headers) }
  } catch {
    return { failure: UNREACHABLE }
  }
}

const UNREACHABLE: Failure = { status: 0, message: 'The gateway does not answer. Check your connection and try again.' }

function failureOf(error: ApiResponse<unknown>['error'], headers: Headers): Failure {
  const status = Number(error?.status ?? 0)
  const told = (error?.value as { error?: { message?: unknown; field?: unknown } } | undefined)?.error
  const retryAfterS = Number(headers.get('retry-after') ?? Number.NaN)
  return {
    status,
    message: typeof told?.message === 'string' ? told.message : 'Something went wrong on our side. Try again.',
    ...(typeof told?.field === 'string' ? { field: told.field } : {}),
    ...(Number.isNaN(retryAfterS) ? {} : { retryAfterS }),
  }
}

/** Acts at once where the page is visible, else when it is seen. Returns what calls it off. */
function whenSeen(act: () => void): () => void {
  if (!document.hidden) {
    act()
    return () => undefined
  }
  document.addEventListener('visibilitychange', act, { once: true })
  return () => document.removeEventListener('visibilitychange', act)
}

/**
 * Asks at first, whenever `on` changes, and when the reader comes back to the window; `again` asks once more. A hidden page asks for its first answer alone, and the rest when it is seen.
 * `question` may be undefined: then nothing is asked yet.
 */
export function useAsked<T>(
  question: (() => PromiseLike<ApiResponse<T>>) | undefined,
  on: readonly unknown[],
): Readonly<{ loaded: Loaded<Found<T>>; again: () => void }> {
  const [loaded, setLoaded] = useState<Loaded<Found<T>>>({ state: 'loading', value: undefined })
  const [turn, setTurn] = useState(0)
  const hasAsked = useRef(false)
  useEffect(() => {
    let isCurrent = true
    if (question === undefined) return
    const begin = (): void => {
      hasAsked.current = true
      setLoaded(({ value }) => ({ state: 'loading', value }))
      ask(question()).then(
        ({ value, failure }) => {
          if (!isCurrent) return
          setLoaded((before) => (failure === undefined ? { state: 'ready', value } : { state: 'failed', value: before.value, failure }))
        },
        () => undefined,
      )
    }
    const seen = hasAsked.current ? whenSeen(begin) : begin()
    return () => {
      isCurrent = false
      seen?.()
    }
  }, [...on, turn])
  const again = useCallback(() => setTurn((before) => before + 1), [])
  useEffect(() => {
    addEventListener('focus', again)
    return () => removeEventListener('focus', again)
  }, [])
  return { loaded, again }
}
