/** What an address without a page shows. */

import { PageHead } from '../../parts/shell.tsx'
import { Empty } from '../../parts/state.tsx'

export const Missing = () => (
  <>
    <PageHead title="Page not found" />
    <Empty title="There is nothing at this address.">
      <a href="/console">To the console’s first page</a>
    </Empty>
  </>
)
