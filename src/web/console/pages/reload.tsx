/** What a reload would change, by model, plan and upstream, and the button that does what is shown and nothing else. Rules: pages.md "Catalog". */

import { useEffect, useState } from 'preact/hooks'
import { type Got, useAsked } from '../../parts/ask.ts'
import { Badge } from '../../parts/badge.tsx'
import { counted } from '../../parts/show-time.ts'
import { Show } from '../../parts/state.tsx'
import { ActDialog } from '../act-dialog.tsx'
import { api } from '../api.ts'
import { NamedSettings } from './named-settings.tsx'
import { percentWords, settingWords, summaryWords, thingWords, valueWords } from './reload.words.ts'

type Preview = Got<typeof api.catalog.reload.get>
type Thing = Preview['things'][number]
type Setting = Thing['changes'][number]

const LOOK_AGAIN_MS = 500
const LOOKS_MAX = 20

/** A reload that was asked for: `looks` at whether it is in force were made. */
type Asked = Readonly<{ digest: string; changes: number; looks: number }>

/** `turn`: another turn reads the file again. `reloaded`: called when other settings are in force. */
export const Reload = ({ turn, reloaded }: Readonly<{ turn: number; reloaded: () => void }>) => {
  const { loaded, again } = useAsked(() => api.catalog.reload.get(), [turn])
  // What the dialog speaks of stays as it was when it opened, though the page looks again when its window gets the focus.
  const [asking, setAsking] = useState<Preview>()
  const [asked, setAsked] = useState<Asked>()
  const preview = loaded.value
  const isWaiting = asked !== undefined && preview?.digest === asked.digest
  useEffect(() => {
    // A look that failed, as while a process restarts, is followed by another: the last preview stands until then.
    if (asked === undefined || loaded.state === 'loading') return
    if (!isWaiting) return loaded.state === 'ready' ? reloaded() : undefined
    if (asked.looks === LOOKS_MAX) return
    const timer = setTimeout(() => {
      setAsked({ ...asked, looks: asked.looks + 1 })
      again()
    }, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [asked, loaded])
  return (
    <section class="card" aria-label="What a reload would change">
      <div class="with-act">
        <h2>What a reload would change</h2>
        {preview !== undefined && preview.digest !== null && !isWaiting && (
          <button type="button" class="primary" onClick={() => setAsking(preview)}>
            Reload…
          </button>
        )}
      </div>
      {asked !== undefined && <Outcome asked={asked} isWaiting={isWaiting} />}
      <Show loaded={loaded} again={again} lines={4}>
        {(shown) => <Previewed preview={shown} />}
      </Show>
      {asking !== undefined && asking.digest !== null && (
        <ReloadDialog
          preview={asking}
          digest={asking.digest}
          close={() => setAsking(undefined)}
          done={(of) => {
            setAsking(undefined)
            setAsked(of)
            again()
          }}
        />
      )}
    </section>
  )
}

const Outcome = ({ asked, isWaiting }: Readonly<{ asked: Asked; isWaiting: boolean }>) => {
  if (!isWaiting)
    return (
      <p class="note" role="status">
        Reloaded: {counted(asked.changes, 'setting')} changed.
      </p>
    )
  return asked.looks < LOOKS_MAX ? (
    <p class="note" role="status">
      Reloading…
    </p>
  ) : (
    <p class="note wary" role="status">
      It is not in force yet. The log, and the alarms on the first page, say why.
    </p>
  )
}

const ReloadDialog = ({
  preview,
  digest,
  close,
  done,
}: Readonly<{ preview: Preview; digest: string; close: () => void; done: (asked: Asked) => void }>) => {
  const gone = preview.things.filter(({ kind, state }) => kind === 'model' && state === 'removed')
  return (
    <ActDialog
      title="Reload the configuration"
      button="Reload"
      kind={gone.length > 0 ? 'danger' : 'primary'}
      send={({ reason }) => api.catalog.reload.post({ digest, reason })}
      done={({ changes }) => done({ digest, changes, looks: 0 })}
      close={close}
    >
      {() => (
        <>
          <p>{summaryWords(preview.things)}. Requests that run keep their prices.</p>
          {gone.length > 0 && <p class="note wary">New requests for {gone.map(({ name }) => name).join(', ')} will be refused.</p>}
        </>
      )}
    </ActDialog>
  )
}

const Previewed = ({ preview: { problems, things, needs_restart, without_effect } }: Readonly<{ preview: Preview }>) => {
  if (problems.length > 0)
    return (
      <div class="note bad" role="status">
        <p>Nothing: the file has mistakes, and what is in force stays.</p>
        <NamedSettings rows={problems} />
      </div>
    )
  return (
    <>
      <p role="status">{things.length === 0 ? 'Nothing: the file says what is in force.' : `${summaryWords(things)}.`}</p>
      {things.map((thing) => (
        <ThingChanged key={`${thing.kind} ${thing.name}`} thing={thing} />
      ))}
      {needs_restart.length > 0 && <p class="note wary">Only a restart changes: {needs_restart.join(', ')}.</p>}
      {without_effect.length > 0 && (
        <div class="note wary">
          <p>Without effect:</p>
          <NamedSettings rows={without_effect} />
        </div>
      )}
    </>
  )
}

const MOODS = { added: 'quiet', removed: 'bad', changed: 'wary' } as const

const ThingChanged = ({ thing }: Readonly<{ thing: Thing }>) => (
  <article class="change">
    <h3>
      {thing.name !== '' && <code>{thing.name}</code>} <span class="quiet">{thingWords(thing)}</span>{' '}
      <Badge mood={MOODS[thing.state]} text={thing.state} />
    </h3>
    {thing.state !== 'removed' && (
      <dl class="diff">
        {thing.changes.map((change) => (
          <div key={change.setting}>
            <dt>{settingWords(change.setting) ?? <code>{change.setting}</code>}</dt>
            <dd>
              <Values change={change} isNew={thing.state === 'added'} />
            </dd>
          </div>
        ))}
      </dl>
    )}
  </article>
)

const Values = ({ change, isNew }: Readonly<{ change: Setting; isNew: boolean }>) => (
  <>
    {!isNew && (
      <>
        <del>{valueWords(change.before, change)}</del> →{' '}
      </>
    )}
    <ins>{valueWords(change.after, change)}</ins>
    {change.unit === 'usd_a_million_tokens' && <span class="quiet"> a million</span>}
    {change.percent !== null && change.percent !== 0 && (
      <>
        {' '}
        <Badge mood={change.percent > 0 ? 'wary' : 'quiet'} text={percentWords(change.percent)} />
      </>
    )}
  </>
)
