/** Whether the gateway is well: each incident is a sentence with since when, why, and what to do; the worst first, and many behind a button. Rules: pages.md "Alarms of the console". */

import type { ComponentChildren } from 'preact'
import type { NowDocument, ShownAlarm } from '../../now/document.ts'
import { showCount, showMoment } from '../../parts/show-time.ts'
import { whenAndWhy } from './now.words.ts'

/** So many are open at once. */
const OPEN_MAX = 3

export const Incidents = ({ now }: Readonly<{ now: NowDocument | undefined }>) => {
  const alarms = (now?.alarms ?? []).toSorted((a, b) => Number(b.is_urgent) - Number(a.is_urgent))
  const more = alarms.slice(OPEN_MAX)
  return (
    <section class="verdict" aria-label="Is it well">
      {alarms.length === 0 && <p class="note">{now === undefined ? 'Checking…' : 'Nothing is wrong.'}</p>}
      <List alarms={alarms.slice(0, OPEN_MAX)} />
      {more.length > 0 && (
        <details>
          <summary>{showCount(more.length)} more</summary>
          <List alarms={more} />
        </details>
      )}
    </section>
  )
}

const List = ({ alarms }: Readonly<{ alarms: readonly ShownAlarm[] }>) =>
  alarms.length === 0 ? null : (
    <ul>
      {alarms.map((alarm) => (
        <Incident key={alarm.id} alarm={alarm} />
      ))}
    </ul>
  )

const Incident = ({ alarm }: Readonly<{ alarm: ShownAlarm }>) => {
  const { title, todo, page, is_urgent } = alarm
  return (
    <li class={is_urgent ? 'note bad' : 'note wary'}>
      <strong>{title}</strong>
      {whenAndWhy(alarm, showMoment)}. {withCode(todo)}
      {page !== null && (
        <>
          {' '}
          <a href={page.path}>Open {page.name}</a>
        </>
      )}
    </li>
  )
}

/** Shows text between backticks as code. */
const withCode = (text: string): readonly ComponentChildren[] =>
  text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))
