/** Where one is among keyset pages: the cursors of those that were left, so that one can go back. */

import { useCallback, useState } from 'preact/hooks'

export type Keyset = Readonly<{
  cursor: string | undefined
  hasNewer: boolean
  older: (cursor: string) => void
  newer: () => void
  first: () => void
}>

export function useKeyset(): Keyset {
  const [left, setLeft] = useState<readonly string[]>([])
  return {
    cursor: left.at(-1),
    hasNewer: left.length > 0,
    older: useCallback((cursor: string) => setLeft((before) => [...before, cursor]), []),
    newer: useCallback(() => setLeft((before) => before.slice(0, -1)), []),
    first: useCallback(() => setLeft([]), []),
  }
}
