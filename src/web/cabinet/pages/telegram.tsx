/** The chats of an account with the cabinet's bot in Telegram, below its members. Without a bot nothing is shown. Rules: pages.md "Telegram". */

import { useState } from 'preact/hooks'
import { useAct } from '../../parts/act.ts'
import { ask, type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import type { Column } from '../../parts/columns.ts'
import { CopyText } from '../../parts/copy.tsx'
import { Dialog, SHOWN_ONCE } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Remove } from '../../parts/remove.tsx'
import { Table } from '../../parts/table.tsx'
import { Moment } from '../../parts/time.tsx'
import { tell } from '../../parts/told.tsx'
import { api } from '../api.ts'
import type { Account } from '../me.ts'

const WORDS = {
  title: 'Telegram',
  lede: 'A chat with the bot may do what its person may: balance, keys, top-ups, alerts.',
  link: 'Link a chat',
  none: 'No chat is linked.',
  remove: 'Its next message, and every button in it, is refused.',
} as const

const chatsOf = (accountId: string) => api.accounts({ accountId }).telegram

type Chats = Got<ReturnType<typeof chatsOf>['get']>
type Chat = Chats['data'][number]
type Code = Got<ReturnType<typeof chatsOf>['code']['post']>

export const Telegram = ({ account: { id, role } }: Readonly<{ account: Account }>) => {
  const { loaded, again } = useAsked(() => chatsOf(id).get(), [id])
  const [code, setCode] = useState<Code>()
  const [opened, setOpened] = useState<Chat>()
  const act = useAct()
  if (loaded.value === undefined || loaded.value.bot === null) return null
  const { data } = loaded.value
  const open = (chat: Chat): (() => void) | undefined => (role === 'owner' || chat.is_you ? () => setOpened(chat) : undefined)
  return (
    <section class="stack" aria-label={WORDS.title}>
      <h2>{WORDS.title}</h2>
      <p class="quiet">{WORDS.lede}</p>
      {data.length > 0 && <Table label="Chats" columns={columnsOf(open)} rows={data} keyOf={({ chat }) => chat} />}
      <Form act={act} button={WORDS.link} submit={() => act.run(() => ask(chatsOf(id).code.post()), setCode)}>
        {data.length === 0 && <p class="field-hint">{WORDS.none}</p>}
      </Form>
      {code !== undefined && (
        <NewCode
          code={code}
          close={() => {
            setCode(undefined)
            again()
          }}
        />
      )}
      {opened !== undefined && (
        <Dialog title={`${opened.name}, ${opened.email}`} close={() => setOpened(undefined)}>
          <Remove
            what="this chat"
            hint={WORDS.remove}
            remove={() => ask(chatsOf(id).remove.post({ chat: opened.chat }))}
            removed={() => {
              tell(`The chat of ${opened.email} is removed`)
              setOpened(undefined)
              again()
            }}
          />
        </Dialog>
      )}
    </section>
  )
}

const columnsOf = (open: (chat: Chat) => (() => void) | undefined): readonly Column<Chat>[] => [
  {
    name: 'Chat',
    cell: ({ name, email, is_you, tells_alerts }) => (
      <div class="named">
        <span class="name">
          {name} {is_you && <Badge mood="good" text="you" />} {tells_alerts && <Badge mood="quiet" text="alerts" />}
        </span>
        <span class="quiet">{email}</span>
      </div>
    ),
  },
  { name: 'Since', cell: ({ created_at }) => <Moment iso={created_at} /> },
  {
    name: 'Change',
    isQuiet: true,
    isFigure: true,
    cell: (chat) => {
      const change = open(chat)
      return change === undefined ? (
        ''
      ) : (
        <button type="button" class="small" aria-label={`Change ${chat.name}`} onClick={change}>
          Change
        </button>
      )
    },
  },
]

/** The code, shown once. `link` null: the bot's name is not known yet. */
const NewCode = ({ code: { code, link, expires_at }, close }: Readonly<{ code: Code; close: () => void }>) => (
  <Dialog title={WORDS.link} close={close}>
    <div class="stack" {...SHOWN_ONCE}>
      {link !== null && (
        <p>
          <a href={link} target="_blank" rel="noreferrer">
            Open the chat in Telegram
          </a>{' '}
          and press Start, or send this to the bot:
        </p>
      )}
      {link === null && <p>Send this to the bot:</p>}
      <CopyText isBlock label="message to the bot" text={`/start ${code}`} />
      <p class="note wary">
        It works once, until <Moment iso={expires_at} />. The chat then acts for you in this account: send the code to no one.
      </p>
      <div class="acts">
        <button type="button" class="primary" onClick={close}>
          Done
        </button>
      </div>
    </div>
  </Dialog>
)
