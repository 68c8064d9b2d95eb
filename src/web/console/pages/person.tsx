/** The operator who is signed in: password, passkeys, sessions. */

import { PersonParts } from '../../parts/person.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { loadMe, me } from '../me.ts'

export const PersonPage = () => {
  const { value } = me.value
  if (value === undefined || value.person === null) return null
  const left = (): void => {
    loadMe().catch(() => undefined)
  }
  return (
    <>
      <PageHead title="You and your sign-in" lede={value.person.email} />
      <PersonParts root="/console" hasPassword={value.person.has_password} offersPasskeys={value.ways.passkey} left={left} />
    </>
  )
}
