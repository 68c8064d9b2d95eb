/** The keys of an account in a chat: a list with buttons, each act that of the cabinet. Rules: pages.md "Telegram", "Keys of an account". */

import type { Button } from '../../telegram/bot-api.ts'
import { type KeyActs, keyActs } from '../api/key-acts.ts'
import { renameAndLimit, setActive } from '../api/key-changes.ts'
import type { keyDocument } from '../api/key-document.ts'
import type { Running } from '../api/running.ts'
import { showUsd } from '../parts/show-usd.ts'
import { type Said, saidOf, say } from './said.ts'
import type { BotSite, Turn } from './turn.ts'

type Key = ReturnType<typeof keyDocument>

/** Telegram's limit of what a button holds, in bytes. */
const DATA_BYTES_MAX = 64
const LISTED = 20
/** How long an old secret stays valid where the person wants time. */
const OVERLAP_HOURS = 24

/** What the button of a message with a secret holds. */
export const DELETE_SOON = 'delete'
const DELETE_BUTTON: readonly Button[] = [{ text: 'Delete this message in two minutes', data: DELETE_SOON }]

export function keyWords({ world }: Pick<BotSite, 'world'>, running: Running) {
  const acts: KeyActs = keyActs({ world }, running)

  /** `after`: the id of the last key of the page before. */
  const list = async ({ accountId, caller, role }: Turn, after?: string): Promise<Said> => {
    const page = await acts.list(accountId, after === undefined ? {} : { after }, caller)
    if (page instanceof Response) return saidOf(page)
    const shown = page.data.slice(0, LISTED)
    const more = page.data.length > LISTED || page.next_cursor !== null ? shown.at(-1)?.id : undefined
    const buttons = [
      ...shown.map((key) => [{ text: `${nameOf(key)} · ${stateOf(key)}`, data: `key:${key.id}` }]),
      ...(more === undefined ? [] : [[{ text: 'More…', data: `more:${more}` }]]),
      ...(role === 'owner' ? [[{ text: 'New key', data: 'new' }]] : []),
    ]
    return say(shown.length === 0 ? 'There is no key.' : 'The keys of the account, the newest first:', { buttons: fitting(buttons) })
  }

  const show = async (turn: Turn, keyId: string, hint?: string): Promise<Said> => {
    const key = await acts.document(ofTurn(turn, keyId), turn.caller)
    if (key instanceof Response) return saidOf(key)
    return {
      ...say(wordsOf(key), { buttons: fitting(turn.role === 'owner' ? buttonsOf(key) : [BACK]) }),
      ...(hint === undefined ? {} : { hint }),
    }
  }

  const create = async (turn: Turn, name: string): Promise<Said> => {
    const made = await acts.create(
      turn.accountId,
      turn.caller,
      { id: turn.newKeyId, name, limit_usd: null, expires_in_days: null },
      turn.random(),
    )
    if (made instanceof Response) return saidOf(made)
    return say(`The key ${name} is made. Its secret is shown only now:\n\n${made.secret}`, { code: made.secret, buttons: [DELETE_BUTTON] })
  }

  const rotate = async (turn: Turn, keyId: string, overlapHours: number): Promise<Said> => {
    const rotated = await acts.rotate(ofTurn(turn, keyId), turn.caller, { overlap_hours: overlapHours }, turn.random())
    if (rotated instanceof Response) return saidOf(rotated)
    const old = overlapHours === 0 ? 'The old one has ended.' : `The old one is valid for ${overlapHours} hours more.`
    const text = `The new secret is shown only now. ${old}\n\n${rotated.secret}`
    return { ...say(text, { code: rotated.secret, buttons: [DELETE_BUTTON] }), isApart: true }
  }

  const limit = async (turn: Turn, keyId: string, typed: string | null): Promise<Said> => {
    const operations = renameAndLimit(keyId, { limit_usd: typed }, world.clock.now())
    if (operations instanceof Response) return saidOf(operations)
    const changed = await acts.changed(ofTurn(turn, keyId), turn.caller, () => operations)
    return changed instanceof Response ? saidOf(changed) : show(turn, keyId, 'The limit is set')
  }

  const switchTo = async (turn: Turn, keyId: string, isActive: boolean): Promise<Said> => {
    const changed = await acts.changed(ofTurn(turn, keyId), turn.caller, ({ id }) => setActive(id, isActive, world.clock.now()))
    return changed instanceof Response ? saidOf(changed) : show(turn, keyId, isActive ? 'Enabled' : 'Disabled')
  }

  return { list, show, create, rotate, limit, switchTo, ...keyQuestions(acts) }
}

/** What is asked before a secret or a limit is changed. */
function keyQuestions(acts: KeyActs) {
  const askRotation = async (turn: Turn, keyId: string): Promise<Said> => {
    const key = await acts.document(ofTurn(turn, keyId), turn.caller)
    if (key instanceof Response) return saidOf(key)
    const buttons = [
      [{ text: 'The old secret ends now', data: `rotate0:${keyId}` }],
      [{ text: `It stays valid for ${OVERLAP_HOURS} hours`, data: `rotate24:${keyId}` }],
      [{ text: 'Back', data: `key:${keyId}` }],
    ]
    return say(`A new secret for ${nameOf(key)}?`, { buttons: fitting(buttons) })
  }

  const askLimit = async (turn: Turn, keyId: string): Promise<Said> => {
    const key = await acts.document(ofTurn(turn, keyId), turn.caller)
    if (key instanceof Response) return saidOf(key)
    const buttons = fitting([[{ text: 'No limit', data: `unlimit:${keyId}` }], [{ text: 'Back', data: `key:${keyId}` }]])
    const text = `Send the limit of ${nameOf(key)} in USD, such as 25 or 0.50. It has spent ${showUsd(key.spent_usd)} so far.`
    return { ...say(text, { buttons }), question: { asks: 'key limit', keyId } }
  }

  return { askRotation, askLimit }
}

export const askName = (): Said => ({ ...say('Send the name of the new key.', { buttons: [BACK] }), question: { asks: 'key name' } })

const BACK: readonly Button[] = [{ text: 'All keys', data: 'keys' }]

const buttonsOf = ({ id, is_active }: Key): readonly (readonly Button[])[] => [
  [
    { text: 'Limit', data: `limit:${id}` },
    { text: 'Rotate', data: `rotate:${id}` },
    is_active ? { text: 'Disable', data: `off:${id}` } : { text: 'Enable', data: `on:${id}` },
  ],
  BACK,
]

/** Without the buttons that Telegram would refuse: an id may be longer than a button holds. */
const fitting = (rows: readonly (readonly Button[])[]): readonly (readonly Button[])[] =>
  rows
    .map((row) => row.filter((button) => 'url' in button || Buffer.byteLength(button.data) <= DATA_BYTES_MAX))
    .filter((row) => row.length > 0)

const ofTurn = ({ accountId }: Turn, keyId: string) => ({ accountId, keyId })
const nameOf = ({ name, display }: Key): string => name || display
const stateOf = ({ state, is_limit_used }: Key): string => (state !== 'live' ? state : is_limit_used ? 'limit used' : 'active')

function wordsOf(key: Key): string {
  const { limit_usd, spent_usd, expires_at, last_used_at, old_secret } = key
  return [
    `${nameOf(key)} (${key.display}): ${stateOf(key)}`,
    `Spent ${showUsd(spent_usd)}${limit_usd === null ? ', no limit' : ` of ${showUsd(limit_usd)}`}`,
    `Expires: ${expires_at === null ? 'never' : timeText(expires_at)}`,
    `Last used: ${last_used_at === null ? 'never' : timeText(last_used_at)}`,
    ...(old_secret === null ? [] : [`The old secret ${old_secret.display} is valid until ${timeText(old_secret.valid_until)}`]),
  ].join('\n')
}

/** `2026-11-27 12:30 UTC` */
const timeText = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`
