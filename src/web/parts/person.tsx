/** A person's own sign-in, for cabinet and console alike: the password, passkeys, and the person's sessions. `root`: `/cabinet` or `/console`. Rules: pages.md "Sessions". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { useAsked } from './ask.ts'
import { Badge } from './badge.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { addPasskey, knowsPasskeys, type Passkey } from './passkeys.ts'
import { answerTo, send } from './send.ts'
import { NewPassword } from './sign-in.tsx'
import { Show } from './state.tsx'
import { Table } from './table.tsx'
import { Ago, Moment } from './time.tsx'
import { tell } from './told.tsx'

/** `left`: called when the person's own session may have ended, or the ways to sign in have changed. */
export const PersonParts = ({
  root,
  hasPassword,
  offersPasskeys,
  left,
}: Readonly<{ root: string; hasPassword: boolean; offersPasskeys: boolean; left: () => void }>) => (
  <>
    {hasPassword ? <Password root={root} left={left} /> : <FirstPassword root={root} set={left} />}
    {offersPasskeys && <Passkeys root={root} />}
    <Sessions root={root} left={left} />
  </>
)

const Password = ({ root, left }: Readonly<{ root: string; left: () => void }>) => {
  const [old, setOld] = useState('')
  const [fresh, setFresh] = useState('')
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => send(`${root}/auth/change-password`, { currentPassword: old, newPassword: fresh, revokeOtherSessions: true }),
      () => {
        setOld('')
        setFresh('')
        tell('Your password is changed; your other sessions have ended')
        left()
      },
    )
  return (
    <section class="stack" aria-label="Password">
      <h2>Password</h2>
      <div class="narrow">
        <Form act={act} isCard button="Change the password" submit={submit}>
          <Field label="Current password" type="password" autocomplete="current-password" required value={old} change={setOld} />
          <NewPassword label="New password" value={fresh} change={setFresh} error={undefined} />
        </Form>
      </div>
    </section>
  )
}

const FirstPassword = ({ root, set }: Readonly<{ root: string; set: () => void }>) => {
  const [password, setPassword] = useState('')
  const act = useAct()
  const submit = (): void =>
    act.run(
      () => send(`${root}/auth/first-password`, { password }),
      () => {
        tell('Your password is set')
        set()
      },
    )
  return (
    <section class="stack" aria-label="Password">
      <h2>Password</h2>
      <p class="lede">You have none: you came in by a link or a passkey. With one you sign in wherever you are.</p>
      <div class="narrow">
        <Form act={act} isCard button="Set a password" submit={submit}>
          <NewPassword label="New password" value={password} change={setPassword} error={undefined} />
        </Form>
      </div>
    </section>
  )
}

const Passkeys = ({ root }: Readonly<{ root: string }>) => {
  const { loaded, again } = useAsked(() => answerTo<readonly Passkey[]>(`${root}/auth/passkey/list-user-passkeys`), [])
  const [name, setName] = useState('')
  const act = useAct()
  const remove = useAct()
  return (
    <section class="stack" aria-label="Passkeys">
      <h2>Passkeys</h2>
      <Show loaded={loaded} again={again} lines={2}>
        {(passkeys) =>
          passkeys.length === 0 ? (
            <p class="lede">You have none. A passkey signs you in by your device, without a password.</p>
          ) : (
            <Table
              label="Passkeys"
              columns={[
                { name: 'Name', cell: (one: Passkey) => one.name || 'without a name' },
                { name: 'Added', cell: ({ createdAt }) => (typeof createdAt === 'string' ? <Ago iso={createdAt} /> : '') },
                {
                  name: 'Remove',
                  isQuiet: true,
                  isFigure: true,
                  cell: (one) => (
                    <button
                      type="button"
                      class="small danger"
                      aria-label={`Remove ${one.name || 'the passkey'}`}
                      onClick={() => remove.run(() => send(`${root}/auth/passkey/delete-passkey`, { id: one.id }), again)}
                    >
                      Remove
                    </button>
                  ),
                },
              ]}
              rows={passkeys}
              keyOf={({ id }) => id}
            />
          )
        }
      </Show>
      {remove.failure !== undefined && (
        <p class="note bad" role="alert">
          {remove.failure.message}
        </p>
      )}
      {knowsPasskeys() && (
        <div class="narrow">
          <Form
            act={act}
            isCard
            button="Add a passkey"
            submit={() =>
              act.run(
                () => addPasskey(root, name.trim()),
                () => {
                  setName('')
                  tell('The passkey is added')
                  again()
                },
              )
            }
          >
            <Field
              label="Name of the device"
              required
              maxLength={60}
              autocomplete="off"
              placeholder="Laptop"
              value={name}
              change={setName}
            />
          </Form>
        </div>
      )}
    </section>
  )
}

type Session = Readonly<{ id: string; created_at: string; address: string; user_agent: string; is_current: boolean }>

const Sessions = ({ root, left }: Readonly<{ root: string; left: () => void }>) => {
  const { loaded, again } = useAsked(() => answerTo<{ data: readonly Session[] }>(`${root}/api/sessions`), [])
  const act = useAct()
  const end = (path: string, isOwn: boolean): void =>
    act.run(() => send(`${root}/api/sessions${path}`, undefined, 'DELETE'), isOwn ? left : again)
  return (
    <section class="stack" aria-label="Sessions">
      <h2>Sessions</h2>
      <Show loaded={loaded} again={again} lines={3}>
        {({ data }) => (
          <>
            <Table
              label="Sessions"
              columns={[
                {
                  name: 'Browser',
                  cell: ({ user_agent, is_current }: Session) => (
                    <>
                      {browserOf(user_agent)} {is_current && <Badge mood="good" text="this one" />}
                    </>
                  ),
                },
                { name: 'Address', cell: ({ address }) => address },
                { name: 'Signed in', cell: ({ created_at }) => <Moment iso={created_at} /> },
                {
                  name: 'End',
                  isQuiet: true,
                  isFigure: true,
                  cell: ({ id, is_current }) => (
                    <button type="button" class="small" onClick={() => end(`/${id}`, is_current)}>
                      {is_current ? 'Sign out' : 'End'}
                    </button>
                  ),
                },
              ]}
              rows={data}
              keyOf={({ id }) => id}
            />
            {data.length > 1 && (
              <div class="acts">
                <button type="button" onClick={() => end('', false)}>
                  End all others
                </button>
              </div>
            )}
          </>
        )}
      </Show>
    </section>
  )
}

/** The browser as "Firefox on Linux", by which people recognise their own. */
function browserOf(userAgent: string): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1]
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux|CrOS)/.exec(userAgent)?.[1]
  if (browser === undefined) return userAgent === '' ? 'unknown' : userAgent.slice(0, 60)
  const name = browser === 'Edg' ? 'Edge' : browser === 'OPR' ? 'Opera' : browser
  return system === undefined ? name : `${name} on ${system.replace('Mac OS X', 'macOS')}`
}
