/** The end of the bar: what an operator may do with themselves. */

import { Menu } from '../parts/menu.tsx'
import { signOut } from './me.ts'

export const Aside = ({ person }: Readonly<{ person: Readonly<{ email: string }> | null | undefined }>) =>
  person === null || person === undefined ? null : (
    <Menu label={<span class="cut">{person.email}</span>}>
      <a href="/console/person">You and your sign-in</a>
      <a href="/docs/operate">How to operate</a>
      <button
        type="button"
        onClick={() => {
          signOut().catch(() => undefined)
        }}
      >
        Sign out
      </button>
    </Menu>
  )
