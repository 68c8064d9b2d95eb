/** The person who looks at the cabinet or the console. The gateway is asked when the page loads and after every sign-in; an ended session is noticed at the next request. */

import { type Signal, signal } from '@preact/signals'
import { type ApiResponse, ask, type Found, type Loaded, whenUnauthorized } from './ask.ts'
import { send } from './send.ts'

type WhoLooks<T> = Readonly<{ me: Signal<Loaded<Found<T>>>; loadMe: () => Promise<void>; signOut: () => Promise<void> }>

/** `root`: `/cabinet` or `/console`. A `person` of null: not signed in. */
export function whoLooks<T extends Readonly<{ person: unknown }>>(root: string, question: () => PromiseLike<ApiResponse<T>>): WhoLooks<T> {
  const me = signal<Loaded<Found<T>>>({ state: 'loading', value: undefined })
  const loadMe = async (): Promise<void> => {
    const { value, failure } = await ask(question())
    me.value = failure === undefined ? { state: 'ready', value } : { state: 'failed', value: me.value.value, failure }
  }
  whenUnauthorized(() => {
    if (me.value.value?.person !== null) loadMe().catch(() => undefined)
  })
  const signOut = async (): Promise<void> => {
    await send(`${root}/auth/sign-out`, {})
    await loadMe()
  }
  return { me, loadMe, signOut }
}
