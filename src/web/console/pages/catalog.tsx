/** The models, their prices, what they take, and the upstreams that serve them; beside it what a reload would change. Rules: pages.md "Catalog". */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type Got, useAsked } from '../../parts/ask.ts'
import type { Column } from '../../parts/columns.ts'
import { rateWords } from '../../parts/rate-words.ts'
import { PageHead } from '../../parts/shell.tsx'
import { showCount } from '../../parts/show-time.ts'
import { showPrice } from '../../parts/show-usd.ts'
import { Show } from '../../parts/state.tsx'
import { Table } from '../../parts/table.tsx'
import { api } from '../api.ts'
import { capabilityWords } from './catalog.words.ts'
import { limitWords } from './limit-words.ts'
import { Reload } from './reload.tsx'
import { WhatIf } from './what-if.tsx'

type Catalog = Got<typeof api.catalog.get>
type Model = Catalog['models'][number]

export const CatalogPage = () => {
  const { loaded, again } = useAsked(() => api.catalog.get(), [])
  const [turn, setTurn] = useState(0)
  const [whatIfTurn, setWhatIfTurn] = useState(0)
  return (
    <>
      <PageHead title="Catalog" lede="What is in force now. Change it in the file, then reload.">
        <button type="button" onClick={() => setTurn(turn + 1)}>
          {turn === 0 ? 'What would a reload change?' : 'Read the file again'}
        </button>
        <button type="button" onClick={() => setWhatIfTurn(whatIfTurn + 1)}>
          What would past requests have cost?
        </button>
      </PageHead>
      {turn > 0 && <Reload turn={turn} reloaded={again} />}
      {whatIfTurn > 0 && <WhatIf turn={whatIfTurn} />}
      <Show loaded={loaded} again={again} lines={12}>
        {(catalog) => (
          <div class="stack">
            <p class="lede">{catalog.file === null ? 'No configuration file: the built-in models serve.' : catalog.file}</p>
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
      USD a million tokens.
      {models.some(({ levels }) => levels.length > 0) && ' A line “above” has the prices of requests with longer prompts.'}
    </p>
    <Table label="Models" columns={columnsOf(models)} rows={models} keyOf={({ id }) => id} isAll />
  </section>
)

/** A price of tool use has a column only where a model has one. */
function columnsOf(models: readonly Model[]): readonly Column<Model>[] {
  const hasToolPrice = models.some(({ server_tool_use_usd }) => server_tool_use_usd !== '0')
  return [
    {
      name: 'Model',
      by: ({ id }) => id,
      cell: ({ id, levels }) => byLevel(<code>{id}</code>, levels, (level) => `above ${showCount(level.above_prompt_tokens)}`),
    },
    priceColumn('Input', ({ input_usd }) => input_usd),
    priceColumn('Output', ({ output_usd }) => output_usd),
    { name: 'Cache read', isFigure: true, cell: (model) => priceCell(model, ({ cache_read_usd }) => cache_read_usd) },
    { name: 'Write 5 min', isFigure: true, cell: (model) => priceCell(model, ({ cache_write_usd }) => cache_write_usd) },
    { name: 'Write 1 h', isFigure: true, cell: (model) => priceCell(model, ({ cache_write_1h_usd }) => cache_write_1h_usd) },
    ...(hasToolPrice
      ? [{ name: 'Tool use', isFigure: true, cell: ({ server_tool_use_usd }: Model) => showPrice(server_tool_use_usd) }]
      : []),
    {
      name: 'Tokens',
      by: ({ context_window }) => context_window,
      cell: ({ context_window, max_output_tokens }) => (
        <>
          {showCount(context_window)}
          <div class="quiet whole">answers {showCount(max_output_tokens)}</div>
        </>
      ),
    },
    { name: 'Takes', onCard: 'line', cell: ({ rejects }) => <Capabilities rejects={rejects} /> },
    {
      name: 'Served by',
      onCard: 'line',
      cell: ({ id, upstreams }) => (
        <div>
          {upstreams.map(({ name, model }) => (
            <div key={`${name} ${model}`} class="wide">
              {name} {model !== id && <span class="quiet">as {model}</span>}
            </div>
          ))}
        </div>
      ),
    },
  ]
}

const Capabilities = ({ rejects }: Readonly<{ rejects: readonly string[] }>) => {
  const { takes, refuses } = capabilityWords(rejects)
  return (
    <div class="wide">
      {takes}
      {refuses !== '' && <div class="quiet">not {refuses}</div>}
    </div>
  )
}

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

const priceCell = (model: Model, usdOf: (priced: Priced) => string) =>
  byLevel(showPrice(usdOf(model)), model.levels, (level) => showPrice(usdOf(level)))

/** Models are ordered by the price of a short prompt. */
const priceColumn = (name: string, usdOf: (priced: Priced) => string): Column<Model> => ({
  name,
  isFigure: true,
  by: (model) => Number(usdOf(model)),
  cell: (model) => priceCell(model, usdOf),
})

const NO_LIMIT = 'no limit'

const Plans = ({ plans }: Readonly<{ plans: Catalog['plans'] }>) => (
  <section class="stack" aria-label="Plans">
    <h2>Plans</h2>
    <Table
      label="Plans"
      columns={[
        { name: 'Plan', cell: ({ name }: Catalog['plans'][number]) => name },
        { name: 'Models', cell: ({ models }) => modelsOfPlan(models) },
        {
          name: 'A request, at most',
          isFigure: true,
          cell: ({ max_request_usd }) => (max_request_usd === null ? NO_LIMIT : showPrice(max_request_usd)),
        },
        { name: 'An account, at most', cell: ({ rates }) => (rates === null ? NO_LIMIT : rateWords(rates)) },
      ]}
      rows={plans}
      keyOf={({ name }) => name}
    />
  </section>
)

function modelsOfPlan(models: readonly string[]): string {
  if (models.length === 0) return 'none: its keys can ask no model'
  return models.length === 1 && models[0] === '*' ? 'all' : models.join(', ')
}

const Limits = ({ limits }: Readonly<{ limits: Catalog['limits'] }>) => (
  <section class="stack" aria-label="Limits">
    <h2>Limits</h2>
    <Table
      label="Limits"
      columns={[
        { name: 'Name', by: ({ name }) => name, cell: ({ name }: Catalog['limits'][number]) => <code>{name}</code> },
        { name: 'Value', isFigure: true, by: ({ value }) => value, cell: ({ name, value }) => limitWords(name, value) },
      ]}
      rows={limits}
      keyOf={({ name }) => name}
      isAll
    />
  </section>
)
