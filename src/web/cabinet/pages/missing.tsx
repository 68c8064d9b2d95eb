/** The page of an address that has no other. */

import { PageHead } from '../../parts/shell.tsx'
import { Empty } from '../../parts/state.tsx'

export const Missing = () => (
  <>
    <PageHead title="Page not found" />
    <Empty title="There is nothing at this address.">
      <a href="/cabinet">To the cabinet’s first page</a>
    </Empty>
  </>
)
