/** What acts, in the style guide: buttons, links, copying, menus, dialogs. Rules: pages.md "Style guide". */

import { useState } from 'preact/hooks'
import { CopyButton, CopyText } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Menu } from '../parts/menu.tsx'
import { RowMenu } from '../parts/row-menu.tsx'

const nothing = (): void => undefined

export const Buttons = () => (
  <>
    <div class="acts">
      <button type="button" class="primary">
        Primary
      </button>
      <button type="button">Plain</button>
      <button type="button" class="danger">
        Danger
      </button>
      <a class="button" href="/console/styles">
        Statement
      </a>
      <button type="button" class="small">
        Small
      </button>
      <button type="button" aria-pressed="true">
        Pressed
      </button>
      <button type="button" class="as-link">
        As a link
      </button>
    </div>
    <div class="acts">
      <button type="button" class="primary" disabled>
        Primary
      </button>
      <button type="button" disabled>
        Plain
      </button>
      <button type="button" class="danger" disabled>
        Danger
      </button>
      <button type="button" aria-disabled="true">
        While it runs
      </button>
      <button type="button" class="chip">
        <span class="quiet">model</span> <span class="cut">sample-large</span> <span aria-hidden="true">✕</span>
      </button>
    </div>
    <fieldset class="segments">
      <legend class="unseen">Time</legend>
      <button type="button">Today</button>
      <button type="button" aria-pressed="true">
        7 days
      </button>
      <button type="button">30 days</button>
    </fieldset>
  </>
)

export const Copying = () => (
  <>
    <CopyText text="key_01931f0c5a7e7d3c" label="the key’s id" />
    <CopyText text={'export KEY=sk-tollgate-0000\ncurl http://127.0.0.1:8080/v1/models -H "x-api-key: $KEY"'} label="the lines" isBlock />
    <div class="acts">
      <CopyButton name="Copy as text" make={() => 'Nothing is wrong.'} />
      <CopyButton name="Copy as text" make={() => ''} isOff />
    </div>
  </>
)

export const Menus = () => (
  <div class="with-act opens-down">
    <Menu label="ann@example.com">
      <a href="/console/styles">You and your sign-in</a>
      <button type="button">Sign out</button>
    </Menu>
    <RowMenu
      of="laptop"
      acts={[
        { text: 'Change…', run: nothing },
        { text: 'New secret…', run: nothing },
        { text: 'Disable…', run: nothing },
      ]}
    />
  </div>
)

export const Dialogs = () => {
  const [isOpen, setOpen] = useState(false)
  return (
    <div class="acts">
      <button type="button" onClick={() => setOpen(true)}>
        Open a dialog
      </button>
      {isOpen && (
        <Dialog title="Disable laptop" close={() => setOpen(false)}>
          <div class="parts">
            <p>Its requests are refused, and its running streams end within a second. It can be enabled again.</p>
            <div class="acts">
              <button type="button" class="danger">
                Disable
              </button>
              <button type="button">Keep it</button>
            </div>
          </div>
        </Dialog>
      )}
    </div>
  )
}
