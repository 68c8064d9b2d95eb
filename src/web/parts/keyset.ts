/** Where one is among keyset pages, as the address says it: a page can be linked to, and the browser's way back leads to the page before. */

import { useCallback, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'

export type Keyset = Readonly<{
  cursor: string | undefined
  hasNewer: boolean
  older: (cursor: string) => void
  newer: () => void
  first: () => void
}>

/**
 * `name` is the parameter's in the address; two lists of one page have one each. The cursors of the pages that were passed lead back, page by page; after a
 * link, whose pages were not passed, back leads to the first page.
 */
export function useKeyset(name = 'after'): Keyset {
  const { path, query, route } = useLocation()
  const cursor = query[name] || undefined
  const [passed, setPassed] = useState<readonly (string | undefined)[]>([cursor])
  const at = passed.lastIndexOf(cursor)
  const search = new URLSearchParams(query).toString()
  const go = useCallback(
    (to: string | undefined) => {
      const params = new URLSearchParams(search)
      if (to === undefined) params.delete(name)
      else params.set(name, to)
      route(params.size === 0 ? path : `${path}?${params}`)
      scrollTo({ top: 0, behavior: 'instant' })
    },
    [path, search, name],
  )
  return {
    cursor,
    hasNewer: cursor !== undefined,
    older: (next) => {
      setPassed([...(at < 0 ? [cursor] : passed.slice(0, at + 1)), next])
      go(next)
    },
    newer: () => go(at > 0 ? passed[at - 1] : undefined),
    first: () => {
      if (cursor !== undefined) go(undefined)
    },
  }
}
