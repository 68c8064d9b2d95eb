/** Tokens of the operator's API: made, shown once, revoked. Rules: operator-api.md "Tokens". */

import { useState } from 'preact/hooks'
import { TOKEN_ACCOUNTS_MAX } from '../../../core/api-token.ts'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge, type Mood, stateText } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Choice, Field } from '../../parts/field.tsx'
import { useKeyset } from '../../parts/keyset.ts'
import { NameField } from '../../parts/name-and-amount.tsx'
import { Pick } from '../../parts/pick.tsx'
import { RowMenu } from '../../parts/row-menu.tsx'
import { PageHead } from '../../parts/shell.tsx'
import { showDate } from '../../parts/show-time.ts'
import { Empty, Show } from '../../parts/state.tsx'
import { Pager, Table } from '../../parts/table.tsx'
import { Ago } from '../../parts/time.tsx'
import { ActDialog, ActForm } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { ACCOUNTS } from '../choices.ts'
import { Secret } from './secret.tsx'

type Token = Got<typeof api.tokens.get>['data'][number]

const STATES: Readonly<Record<Token['state'], Mood>> = { live: 'good', expired: 'wary', revoked: 'bad' }

export const TokensPage = () => {
  const pages = useKeyset()
  const { cursor } = pages
  const [isMaking, setMaking] = useState(false)
  const [revoked, setRevoked] = useState<Token>()
  const { loaded, again } = useAsked(() => api.tokens.get({ query: cursor === undefined ? {} : { after: cursor } }), [cursor])
  return (
    <>
      <PageHead title="Tokens" lede="For scripts, shops and bots that ask the API for operators, which stands at /api.">
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          Make a token…
        </button>
      </PageHead>
      <Show loaded={loaded} again={again} lines={6}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? <Empty title="There are no tokens yet" /> : <Tokens tokens={data} revoke={setRevoked} />}
            <Pager {...pages} next={next_cursor} />
          </>
        )}
      </Show>
      {isMaking && <MakeToken close={() => setMaking(false)} made={again} />}
      {revoked !== undefined && <Revoke token={revoked} close={() => setRevoked(undefined)} done={again} />}
    </>
  )
}

const Tokens = ({ tokens, revoke }: Readonly<{ tokens: readonly Token[]; revoke: (token: Token) => void }>) => (
  <Table
    label="Tokens"
    columns={[
      {
        name: 'Token',
        cell: ({ name, display }: Token) => (
          <span class="named">
            <span class="name">{name}</span>
            <code>{display}</code>
          </span>
        ),
      },
      { name: 'State', cell: ({ state }) => <Badge mood={STATES[state]} text={stateText(state)} /> },
      { name: 'Scope', cell: ({ scope }) => MAY[scope] },
      {
        name: 'Accounts',
        cell: ({ accounts }) => (accounts.length === 0 ? 'all' : accounts.map((one) => <Bound key={one.id} {...one} />)),
      },
      { name: 'Last used', cell: ({ last_used_at }) => (last_used_at === null ? 'never' : <Ago iso={last_used_at} />) },
      { name: 'Expires', cell: ({ expires_at }) => showDate(expires_at) },
      {
        name: 'Change',
        isQuiet: true,
        onCard: 'corner',
        cell: (token) =>
          token.state === 'revoked' ? null : <RowMenu of={token.name} acts={[{ text: 'Revoke…', run: () => revoke(token) }]} />,
      },
    ]}
    rows={tokens}
    keyOf={({ id }) => id}
  />
)

const Bound = ({ id, name }: Token['accounts'][number]) => (
  <a class="line" href={`/console/accounts/${id}`} title={id}>
    {name || id}
  </a>
)

const MAY: Readonly<Record<Token['scope'], string>> = {
  read: 'read',
  keys: 'read; change accounts and keys',
  money: 'read; credits and codes',
  all: 'everything',
}
const SCOPES = (Object.keys(MAY) as Token['scope'][]).map((value) => ({ value, text: `${value}: ${MAY[value]}` }))

const REACHES = [
  { value: 'all', text: 'all' },
  { value: 'some', text: `some, at most ${TOKEN_ACCOUNTS_MAX}` },
]

const MakeToken = ({ close, made }: Readonly<{ close: () => void; made: () => void }>) => {
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Token['scope']>('read')
  const [reach, setReach] = useState('all')
  const [accounts, setAccounts] = useState<readonly string[]>([])
  const [days, setDays] = useState('90')
  const [secret, setSecret] = useState<string>()
  return (
    <Dialog title={secret === undefined ? 'Make a token' : `The token “${name.trim()}”`} close={close}>
      {secret !== undefined ? (
        <Secret secret={secret} close={close} />
      ) : (
        <ActForm
          title=""
          button="Make the token"
          fields={['name', 'scope', 'account_ids', 'expires_in_days']}
          close={close}
          send={(form) =>
            api.tokens.post({
              ...form,
              name,
              scope,
              ...(reach === 'all' ? {} : { account_ids: [...accounts] }),
              expires_in_days: Number(days),
            })
          }
          done={(token) => {
            setSecret(token.secret)
            made()
          }}
        >
          {(act) => (
            <>
              <NameField act={act} required autoFocus value={name} change={setName} />
              <Choice
                label="Scope"
                options={SCOPES}
                value={scope}
                change={(value) => setScope(value as Token['scope'])}
                error={act.errorOf('scope')}
              />
              <Choice label="Accounts" options={REACHES} value={reach} change={setReach} />
              {reach === 'some' && (
                <Pick
                  label="Only these accounts"
                  none="name or id"
                  choices={ACCOUNTS}
                  most={TOKEN_ACCOUNTS_MAX}
                  isRequired
                  values={accounts}
                  change={setAccounts}
                  error={act.errorOf('account_ids')}
                />
              )}
              <Field
                label="Days until it expires"
                hint="1 to 366"
                type="number"
                min="1"
                max="366"
                required
                value={days}
                change={setDays}
                error={act.errorOf('expires_in_days')}
              />
            </>
          )}
        </ActForm>
      )}
    </Dialog>
  )
}

const Revoke = ({ token, close, done }: Readonly<{ token: Token; close: () => void; done: () => void }>) => (
  <ActDialog
    title={`Revoke “${token.name}”?`}
    button="Revoke it"
    kind="danger"
    close={close}
    send={({ reason }) => api.tokens({ tokenId: token.id }).revoke.post({ reason })}
    done={() => {
      done()
      close()
    }}
  >
    {() => <p class="note wary">It is refused from now on, everywhere. A script that uses it stops.</p>}
  </ActDialog>
)
