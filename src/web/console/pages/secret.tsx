/** A secret, shown once. */

import { CopyText } from '../../parts/copy.tsx'
import { SHOWN_ONCE } from '../../parts/dialog.tsx'

export const Secret = ({ secret, close }: Readonly<{ secret: string; close: () => void }>) => (
  <div class="stack" {...SHOWN_ONCE}>
    <CopyText isBlock label="secret" text={secret} />
    <p class="note wary">It is shown this once; only its hash is kept.</p>
    <div class="acts">
      <button type="button" class="primary" onClick={close}>
        Done
      </button>
    </div>
  </div>
)
