/** What says how something is, in the style guide: badges, meters, notes, and what stands where there is nothing, nothing yet or a failure. Rules: pages.md "Style guide". */

import { Badge } from '../parts/badge.tsx'
import { Meter } from '../parts/meter.tsx'
import { Empty, Failed, Waiting } from '../parts/state.tsx'
import { Ago, Moment } from '../parts/time.tsx'

export const States = () => (
  <>
    <div class="acts">
      <Badge mood="good" text="active" />
      <Badge mood="wary" text="expires soon" />
      <Badge mood="bad" text="limit used" />
      <Badge mood="quiet" text="disabled" />
      <Badge mood="quiet" text="expired" />
    </div>
    <div class="cards">
      {[0.3, 0.85, 1].map((share) => (
        <div key={share}>
          {share * 100} % used
          <Meter share={share} />
        </div>
      ))}
    </div>
    <p>
      Last use <Ago iso="2026-11-22T11:15:00.000Z" />, expires <Moment iso="2027-01-20T12:00:00.000Z" />
    </p>
  </>
)

export const Notices = () => (
  <>
    <p class="note">Nothing is wrong.</p>
    <p class="note wary">
      upstream-1 is out of use since 12:03. <a href="/console/styles">Put it back</a>
    </p>
    <div class="note bad">
      The disk is nearly full.
      <p class="detail">1.2 GiB of 40 GiB are left</p>
    </div>
    {['', 'is-error'].map((kind) => (
      <div key={kind} class="told">
        <p class={kind}>{kind === '' ? 'The key is disabled' : 'The gateway does not answer'}</p>
      </div>
    ))}
    <ul class="entries">
      <li>
        <p class="entry">
          The balance falls below $5.00, told by mail <Badge mood="good" text="active" />
        </p>
        <div class="acts">
          <button type="button" class="small">
            Change
          </button>
        </div>
      </li>
      <li>
        <p class="entry">
          A key expires within 7 days <Badge mood="quiet" text="disabled" />
        </p>
      </li>
    </ul>
  </>
)

export const EmptyStates = () => (
  <>
    <Empty title="No keys yet.">
      <p>A key is what clients send with each request.</p>
      <button type="button">New key</button>
    </Empty>
    <Failed message="The gateway does not answer. Check your connection and try again." again={() => undefined} />
  </>
)

export const Skeletons = () => <Waiting lines={3} />
