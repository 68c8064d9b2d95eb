/** The views of Explore that a person keeps, in a menu, and the dialog that keeps the shown one. A view is an address under a name. Rules: pages.md "Saved views". */

import { useState } from 'preact/hooks'
import { useAct } from './act.ts'
import { type ApiResponse, ask, useAsked } from './ask.ts'
import { Dialog } from './dialog.tsx'
import { type ExploreQuery, type ExploreView, exploreSearch, type SpanName, spansAt } from './explore-view.ts'
import { Choice } from './field.tsx'
import { Form } from './form.tsx'
import { Menu } from './menu.tsx'
import { NameField } from './name-and-amount.tsx'
import { tell } from './told.tsx'

type KeptView = ExploreQuery & Readonly<{ span?: SpanName }>
type Saved = Readonly<{ id: string; name: string; view: KeptView }>

/** The calls of a listener's routes. */
export type ViewCalls = Readonly<{
  list: () => PromiseLike<ApiResponse<Readonly<{ data: readonly Saved[] }> | Response>>
  keep: (name: string, view: KeptView) => PromiseLike<ApiResponse<unknown>>
  remove: (id: string) => PromiseLike<ApiResponse<unknown>>
}>

export const ExploreViews = ({ calls, path, view }: Readonly<{ calls: ViewCalls; path: string; view: ExploreView }>) => {
  const { loaded, again } = useAsked(calls.list, [path])
  const [isKeeping, setKeeping] = useState(false)
  const remove = async ({ id, name }: Saved): Promise<void> => {
    const { failure } = await ask(calls.remove(id))
    tell(failure?.message ?? `The view ${name} is deleted`)
    again()
  }
  return (
    <>
      <Menu label="Views">
        {loaded.value?.data.map((saved) => (
          <div key={saved.id} class="kept">
            <a href={path + searchOf(saved.view, Date.now())}>{saved.name}</a>
            <button
              type="button"
              class="small"
              aria-label={`Delete the view ${saved.name}`}
              onClick={() => void remove(saved).catch(() => undefined)}
            >
              ✕
            </button>
          </div>
        ))}
        {loaded.state === 'failed' && <p class="quiet">Your views cannot be read now.</p>}
        <button type="button" onClick={() => setKeeping(true)}>
          Save this view…
        </button>
      </Menu>
      {isKeeping && (
        <KeepView
          view={view}
          keep={calls.keep}
          close={() => setKeeping(false)}
          kept={() => {
            setKeeping(false)
            again()
          }}
        />
      )}
    </>
  )
}

/** Where days count from the day on which the view is opened, those of that day. */
function searchOf({ span, ...view }: KeptView, nowMs: number): string {
  const days = spansAt(nowMs).find(({ id }) => id === span)
  return exploreSearch(days === undefined ? view : { ...view, from: days.from, to: days.to })
}

type KeepOptions = Readonly<{ view: ExploreView; keep: ViewCalls['keep']; close: () => void; kept: () => void }>

const KeepView = ({ view, keep, close, kept }: KeepOptions) => {
  const spans = spansAt(Date.now()).filter(({ from, to }) => from === view.from && to === view.to)
  const [name, setName] = useState('')
  const [span, setSpan] = useState<string>((spans.find(({ step }) => step === view.step) ?? spans[0])?.id ?? '')
  const act = useAct()
  const submit = (): void => {
    const { from, to, ...undated } = view
    const counted = spans.find(({ id }) => id === span)?.id
    act.run(
      () => ask(keep(name, counted === undefined ? view : { ...undated, span: counted })),
      () => {
        tell(`The view ${name.trim()} is kept`)
        kept()
      },
    )
  }
  return (
    <Dialog title="Save this view" close={close}>
      <Form act={act} submit={submit} fields={['name']} button="Save">
        <NameField act={act} required autoFocus value={name} change={setName} />
        <Choice
          label="Days"
          options={[
            ...spans.map(({ id, text }) => ({ value: id, text: `${text}, whenever it is opened` })),
            { value: '', text: `${view.from} to ${view.to}` },
          ]}
          value={span}
          change={setSpan}
        />
      </Form>
    </Dialog>
  )
}
