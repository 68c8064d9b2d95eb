/** The person who is signed in: password, passkeys, sessions. */

import { PersonParts } from '../../parts/person.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { Waiting } from '../../parts/state.tsx'
import { loadMe, me } from '../me.ts'
import { MeFailed, ToSignIn } from './account.tsx'

export const PersonPage = () => {
  const { value, state } = me.value
  if (value === undefined) return state === 'failed' ? <MeFailed /> : <Waiting />
  if (value.person === null) return <ToSignIn />
  const { email, has_password } = value.person
  return (
    <>
      <PageHead title="You and your sign-in" lede={email} />
      <PersonParts
        root="/cabinet"
        hasPassword={has_password}
        offersPasskeys={value.ways.passkey}
        left={() => {
          loadMe().catch(() => undefined)
        }}
      />
    </>
  )
}
