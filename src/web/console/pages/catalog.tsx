/** The models, their prices, the upstreams that serve them, and the changes that a reload would make. This page changes nothing. Rules: pages.md "Catalog". */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Got, useAsked } from '../../parts/ask.ts'
import { rateWords } from '../../parts/rate-words.ts'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { showPrice } from '../../parts/show-usd.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { api } from '../api.ts'
import { NamedSettings } from './named-settings.tsx'
import { counted } from './now.words.ts'
import { WhatIf } from './what-if.tsx'

type Catalog = Got<typeof api.catalog.get>
type Preview = Got<typeof api.catalog.reload.get>
type Model = Catalog['models'][number]

export const CatalogPage = () => {
  const { loaded, again } = useAsked(() => api.catalog.get(), [])
  const [turn, setTurn] = useState(0)
  const [whatIfTurn, setWhatIfTurn] = useState(0)
  return (
    <>
      <PageHead title="Catalog" lede="As it is in force. It is changed in the file, and by SIGHUP.">
        <button type="button" onClick={() => setTurn(turn + 1)}>
          {turn === 0 ? 'What would a reload change?' : 'Read the file again'}
        </button>
        <button type="button" onClick={() => setWhatIfTurn(whatIfTurn + 1)}>
          What would past requests have cost?
        </button>
      </PageHead>
      {turn > 0 && <Reload turn={turn} />}
      {whatIfTurn > 0 && <WhatIf turn={whatIfTurn} />}
      <Show loaded={loaded} again={again} lines={12}>
        {(catalog) => (
          <div class="stack">
            <p class="lede">{catalog.file === null ? 'There is no file; what is built in serves.' : catalog.file}</p>
            <Models models={catalog.models} />
            <div class="halves">
              <Plans plans={catalog.plans} />
              <Limits limits={catalog.limits} />
            </div>
          </div>
        )}
      </Show>
    </>
  )
}

const Models = ({ models }: Readonly<{ models: readonly Model[] }>) => (
  <section class="stack" aria-label="Models">
    <h2>Models</h2>
    <p class="lede">
      USD a million tokens; cache prices are multiples of the input price.
      {models.some(({ levels }) => levels.length > 0) && ' A line “above” has the prices of requests with longer prompts.'}
    </p>
    <Table
      label="Models"
      columns={[
        {
          name: 'Model',
          cell: ({ id, levels }: Model) => byLevel(<code>{id}</code>, levels, (level) => `above ${showCount(level.above_prompt_tokens)}`),
        },
        { name: 'Input', isFigure: true, cell: (model) => priceCell(model, ({ input_usd }) => showPrice(input_usd)) },
        { name: 'Output', isFigure: true, cell: (model) => priceCell(model, ({ output_usd }) => showPrice(output_usd)) },
        { name: 'Cache read', isFigure: true, cell: (model) => priceCell(model, ({ cache_read }) => `× ${cache_read}`) },
        { name: 'Write 5 min', isFigure: true, cell: (model) => priceCell(model, ({ cache_write }) => `× ${cache_write}`) },
        { name: 'Write 1 h', isFigure: true, cell: (model) => priceCell(model, ({ cache_write_1h }) => `× ${cache_write_1h}`) },
        { name: 'Tool use', isFigure: true, cell: ({ server_tool_use_usd }) => showPrice(server_tool_use_usd) },
        { name: 'Window', isFigure: true, cell: ({ context_window }) => showCount(context_window) },
        { name: 'Answer', isFigure: true, cell: ({ max_output_tokens }) => showCount(max_output_tokens) },
        {
          name: 'Upstreams',
          cell: (model) => (
            <span class="wide">
              {model.upstreams.map(({ name, model: id }) => (id === model.id ? name : `${name} as ${id}`)).join(', ')}
            </span>
          ),
        },
        { name: 'Refuses', cell: ({ rejects }) => <span class={rejects.length > 0 ? 'wide' : undefined}>{rejects.join(', ')}</span> },
      ]}
      rows={models}
      keyOf={({ id }) => id}
    />
  </section>
)

type Level = Model['levels'][number]
type Priced = Omit<Level, 'above_prompt_tokens'>

/** The first price, and below it a line for each level of long prompts. */
const byLevel = (first: ComponentChildren, levels: readonly Level[], line: (level: Level) => string) => (
  <>
    {first}
    {levels.map((level) => (
      <div key={level.above_prompt_tokens} class="quiet">
        {line(level)}
      </div>
    ))}
  </>
)

const priceCell = (model: Model, show: (priced: Priced) => string) => byLevel(show(model), model.levels, show)

const Plans = ({ plans }: Readonly<{ plans: Catalog['plans'] }>) => (
  <section class="stack" aria-label="Plans">
    <h2>Plans</h2>
    <Table
      label="Plans"
      columns={[
        { name: 'Plan', cell: ({ name }: Catalog['plans'][number]) => name },
        { name: 'Models', cell: ({ models }) => (models.length === 1 && models[0] === '*' ? 'all' : models.join(', ')) },
        {
          name: 'A request, at most',
          isFigure: true,
          cell: ({ max_request_usd }) => (max_request_usd === null ? '' : showPrice(max_request_usd)),
        },
        { name: 'An account, at most', cell: ({ rates }) => (rates === null ? '' : rateWords(rates)) },
      ]}
      rows={plans}
      keyOf={({ name }) => name}
    />
  </section>
)

const Limits = ({ limits }: Readonly<{ limits: Catalog['limits'] }>) => (
  <section class="stack" aria-label="Limits">
    <h2>Limits</h2>
    <Table
      label="Limits"
      columns={[
        { name: 'Name', cell: ({ name }: Catalog['limits'][number]) => <code>{name}</code> },
        { name: 'Value', isFigure: true, cell: ({ value }) => showCount(value) },
      ]}
      rows={limits}
      keyOf={({ name }) => name}
    />
  </section>
)

const Reload = ({ turn }: Readonly<{ turn: number }>) => {
  const { loaded, again } = useAsked(() => api.catalog.reload.get(), [turn])
  return (
    <section class="card" aria-label="What a reload would change">
      <h2>What a reload would change</h2>
      <Show loaded={loaded} again={again} lines={2}>
        {(preview) => <Previewed preview={preview} />}
      </Show>
    </section>
  )
}

const Previewed = ({ preview: { problems, changes, needs_restart, without_effect } }: Readonly<{ preview: Preview }>) => {
  if (problems.length > 0)
    return (
      <div class="note bad" role="status">
        <p>Nothing: the file has mistakes, and what is in force stays.</p>
        <NamedSettings rows={problems} />
      </div>
    )
  return (
    <>
      <p role="status">
        {changes.length === 0 ? 'Nothing: the file says what is in force.' : `${counted(changes.length, 'setting')}. Send SIGHUP to do it.`}
      </p>
      {changes.length > 0 && (
        <Table
          label="Changes"
          columns={[
            { name: 'Setting', cell: ({ path }: Preview['changes'][number]) => <code>{path}</code> },
            { name: 'In force', cell: ({ before }) => before ?? '–' },
            { name: 'In the file', cell: ({ after }) => after ?? '–' },
          ]}
          rows={changes}
          keyOf={({ path }) => path}
        />
      )}
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
