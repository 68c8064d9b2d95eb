/** Passkeys by the browser's own API: signing in with one, adding one. Source: https://www.w3.org/TR/webauthn-3/#sctn-parseCreationOptionsFromJSON */

import type { AskResult } from './ask.ts'
import { send } from './send.ts'

export type Passkey = Readonly<{ id: string; name?: string | null; createdAt?: string | null }>

const NOT_DONE: AskResult<never> = { failure: { status: 0, message: 'No passkey was used.' } }
const NOT_ADDED: AskResult<never> = { failure: { status: 0, message: 'No passkey was added.' } }

/** Whether this browser knows passkeys as JSON. */
export const knowsPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential

/** `root`: `/cabinet` or `/console`. */
export async function signInWithPasskey(root: string): Promise<AskResult<unknown>> {
  const { value, failure } = await send<PublicKeyCredentialRequestOptionsJSON>(`${root}/auth/passkey/generate-authenticate-options`)
  if (failure !== undefined) return { failure }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(value)
  const credential = await chosen(navigator.credentials.get({ publicKey }))
  return credential === undefined ? NOT_DONE : send(`${root}/auth/passkey/verify-authentication`, { response: credential })
}

export async function addPasskey(root: string, name: string): Promise<AskResult<unknown>> {
  const path = `${root}/auth/passkey/generate-register-options?name=${encodeURIComponent(name)}`
  const { value, failure } = await send<PublicKeyCredentialCreationOptionsJSON>(path)
  if (failure !== undefined) return { failure }
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(value)
  const credential = await chosen(navigator.credentials.create({ publicKey }))
  return credential === undefined ? NOT_ADDED : send(`${root}/auth/passkey/verify-registration`, { response: credential, name })
}

/** Undefined: the person changed their mind, or the device has none. */
async function chosen(asking: Promise<Credential | null>): Promise<unknown> {
  try {
    const credential = await asking
    return credential instanceof PublicKeyCredential ? credential.toJSON() : undefined
  } catch {
    return undefined
  }
}
