/** Who did an act, with the actor of the audit log behind. Rules: operator.md "Audit"; pages.md "Tables". */

import { actorWords } from './actor.words.ts'

/** `address`: from where; '' where only the actor is known. */
export const Actor = ({ actor, address = '' }: Readonly<{ actor: string; address?: string }>) => {
  const { who, from } = actorWords(actor, address)
  return (
    <span class="named" title={actor}>
      <span>{who}</span>
      {from !== '' && <span class="quiet">{from}</span>}
    </span>
  )
}
