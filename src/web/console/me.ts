/** Which operator looks. Asked when the page comes and after every sign-in; whoever is no longer signed in is noticed at the next question. */

import { signal } from '@preact/signals'
import { ask, type Loaded, whenUnauthorized } from '../parts/ask.ts'
import { send } from '../parts/send.ts'
import { api } from './api.ts'

type Me = NonNullable<Awaited<ReturnType<typeof api.me.get>>['data']>

export const me = signal<Loaded<Me>>({ state: 'loading', value: undefined })

export async function loadMe(): Promise<void> {
  const { value, failure } = await ask(api.me.get())
  me.value = failure === undefined ? { state: 'ready', value } : { state: 'failed', value: me.value.value, failure }
}

export async function signOut(): Promise<void> {
  await send('/console/auth/sign-out', {})
  await loadMe()
}

whenUnauthorized(() => {
  if (me.value.value?.person !== null) loadMe().catch(() => undefined)
})
