/** The people of a running gateway: the addresses and settings of their pages as configured now, and their accounts in the ledger. Rules: pages.md "People", "Signing up". */

import type { Config } from '../config/config.ts'
import { noticeAway } from '../observe/away-notices.ts'
import { describeBug } from '../observe/bug.ts'
import type { Mailer } from '../people/mail.ts'
import { peoplePlaceOf } from '../people/open-people.ts'
import { originsOf } from '../people/origins.ts'
import { People, type PeopleOptions } from '../people/people.ts'
import { PeopleAway } from '../people/people-sql.ts'
import type { World } from '../world.ts'

/** `urls`: the listeners' addresses, which are known before the first page. */
export type PeopleParts = Readonly<{
  world: World
  config: () => Config
  urls: () => Readonly<{ cabinet: string; console: string }>
  /** Makes a Worker of `src/people/thread.ts`. */
  startPeopleThread: () => Worker
  /** Undefined: no mail is set up. */
  mailer: Mailer | undefined
}>

export type OpenedPeople = Readonly<{ open(): People; close(): Promise<void> }>

/** Makes the people with the first call, since a gateway may serve no page for a long time. */
export function peopleOfGateway({ world, config, urls, startPeopleThread, mailer }: PeopleParts): OpenedPeople {
  let opened: People | undefined
  const make = (): People =>
    new People({
      place: peoplePlaceOf(config().ledger, startPeopleThread),
      now: world.clock.now,
      monotonicMs: world.clock.monotonicMs,
      sleep: Bun.sleep,
      settings: () => {
        const { cabinet, operator } = config()
        return {
          signUp: cabinet.signUp,
          origins: (listener) =>
            listener === 'cabinet' ? originsOf(cabinet.publicUrl, urls().cabinet) : originsOf(operator.publicUrl, urls().console),
        }
      },
      makeAccount: accountMaker(world),
      mailer,
      onMailFault: (problem) => world.log.alarm('a mail was not sent', { problem }),
      onBug(bug) {
        if (bug instanceof PeopleAway) noticeAway(world.log, bug.message)
        else world.log.alarm('a sign-in failed by a bug', describeBug(bug))
      },
    })
  return {
    open: () => {
      opened ??= make()
      return opened
    },
    close: () => opened?.close() ?? Promise.resolve(),
  }
}

/** Makes an account with the given name, or without one where another account has that name. The same id again is the same account, with or without the name. */
function accountMaker({ ledger, clock }: World): PeopleOptions['makeAccount'] {
  return async ({ accountId, name, email, address }) => {
    const act = { actor: `person:${email}`, address, reason: 'sign-up' }
    for (const tried of [name, '']) {
      const { result } = await ledger.operate({ kind: 'createAccount', accountId, name: tried, topUp: null, now: clock.now() }, act)
      if (result !== 'refused') return result === 'done'
    }
    return false
  }
}
