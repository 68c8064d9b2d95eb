/** Tables, cards and figures, in the style guide. On a phone the tables are cards. Rules: pages.md "Style guide". */

import { Badge, type Mood } from '../parts/badge.tsx'
import { Meter } from '../parts/meter.tsx'
import { showCount } from '../parts/show-time.ts'
import { Pager, Table } from '../parts/table.tsx'
import { Usd } from '../parts/usd.tsx'

type Key = Readonly<{ name: string; spent: string; limit: string; share: number; state: readonly [Mood, string]; requests: number }>

const KEYS: readonly Key[] = [
  { name: 'production', spent: '1204.5', limit: '2000', share: 0.6, state: ['good', 'active'], requests: 120_431 },
  { name: 'evaluation of long documents', spent: '23.75', limit: '25', share: 0.95, state: ['wary', 'expires soon'], requests: 310 },
  { name: 'laptop', spent: '0.0149', limit: '0.01', share: 1.49, state: ['bad', 'limit used'], requests: 2 },
]

const nothing = (): void => undefined

export const Figures = () => (
  <dl class="figures">
    <div>
      <dt>Balance</dt>
      <dd>
        <Usd exact="1418.712345" />
      </dd>
      <dd>lasts 230 days at $6.14 a day</dd>
    </div>
    <div>
      <dt>Requests</dt>
      <dd>{showCount(120_743)}</dd>
      <dd>that were booked</dd>
    </div>
    <div>
      <dt>Held now</dt>
      <dd>
        <Usd exact="0" />
      </dd>
      <dd>nothing is reserved</dd>
    </div>
  </dl>
)

/** Amounts of one column have one number of places; a difference below zero, nothing, and what is less than can be shown are among them. */
export const Money = () => (
  <Table
    label="Amounts"
    columns={[
      { name: 'Model', cell: ({ model }) => model },
      { name: 'Charged', usd: ({ charged }) => charged },
      { name: 'Change', usd: ({ change }) => change },
    ]}
    rows={[
      { model: 'sample-large', charged: '1204.5', change: '12.5' },
      { model: 'sample-small', charged: '0.014912', change: '-3.25' },
      { model: 'never used', charged: '0', change: '0.0000004' },
    ]}
    keyOf={({ model }) => model}
    foot={['Sum', '1204.514912', '9.2500004']}
  />
)

export const Tables = () => (
  <>
    <Table
      label="Keys"
      order={{ value: '-spent', set: nothing }}
      columns={[
        { name: 'Name', order: 'name', cell: ({ name }) => <span class="name">{name}</span> },
        { name: 'State', onCard: 'first', cell: ({ state: [mood, text] }) => <Badge mood={mood} text={text} /> },
        {
          name: 'Spent',
          isFigure: true,
          onCard: 'first',
          order: 'spent',
          cell: ({ spent, limit, share }) => (
            <div class="spent">
              <Usd exact={spent} /> <span class="quiet">of</span> <Usd exact={limit} />
              <Meter share={share} />
            </div>
          ),
        },
        { name: 'Requests', isFigure: true, cell: ({ requests }) => showCount(requests) },
        {
          name: 'Change',
          isQuiet: true,
          onCard: 'corner',
          cell: () => (
            <button type="button" class="small">
              Change
            </button>
          ),
        },
      ]}
      rows={KEYS}
      keyOf={({ name }) => name}
    />
    <Pager hasNewer next={null} older={nothing} newer={nothing} />
  </>
)

export const Cards = () => (
  <div class="cards">
    {['upstream-0', 'upstream-1'].map((name, at) => (
      <section key={name} class="card">
        <div class="titled">
          <h3>{name}</h3>
          <Badge mood={at === 0 ? 'good' : 'bad'} text={at === 0 ? 'in' : 'out'} />
        </div>
        <dl class="facts">
          <dt>Address</dt>
          <dd>https://upstream.example.com</dd>
          <dt>Calls now</dt>
          <dd>12 of 40</dd>
        </dl>
      </section>
    ))}
  </div>
)
