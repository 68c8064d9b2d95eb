/** Entry of the style guide: each part of the pages in each of its states, one section a part. Rules: pages.md "Style guide". */

import type { ComponentType } from 'preact'
import { Shell } from '../parts/shell.tsx'
import { showPages } from '../parts/show-pages.tsx'
import { Buttons, Copying, Dialogs, Menus } from './acts.tsx'
import { Charts, SmallCharts, TimeCharts } from './charts.tsx'
import { Budgets, Fields, Mistakes, Spans } from './fields.tsx'
import { Finding, Picks, Views, Zone } from './finding.tsx'
import { OneTimeLinks } from './links.tsx'
import { Cards, Figures, Money, Tables } from './rows.tsx'
import { EmptyStates, Notices, Skeletons, States } from './states.tsx'

const SAMPLES: Readonly<Record<string, ComponentType>> = {
  Buttons,
  States,
  Notices,
  'Empty states': EmptyStates,
  Skeletons,
  Copying,
  Menus,
  Dialogs,
  Fields,
  Mistakes,
  Budgets,
  Spans,
  Finding,
  Picks,
  Views,
  Zone,
  Figures,
  Money,
  Tables,
  Cards,
  Charts,
  'Time charts': TimeCharts,
  'Small charts': SmallCharts,
  'One-time links': OneTimeLinks,
}

const Styles = () => (
  <Shell home="/console/styles" name="Styles" links={[]} path="/console/styles">
    <h1>Styles</h1>
    <div class="samples">
      {Object.entries(SAMPLES).map(([name, Sample]) => (
        <section key={name} class="sample" aria-label={name}>
          <h2>{name}</h2>
          <Sample />
        </section>
      ))}
    </div>
  </Shell>
)

showPages('/console/styles', Styles)
