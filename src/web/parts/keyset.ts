/** The place among keyset pages, which stands in the address: a page can be linked to, and the browser's way back leads to the page before. */

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
 * `name`: the name of the parameter in the address; two lists on a page have one each. The cursors of earlier pages lead back, page by page; after a link to a
 * later page, back leads to the first page.
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
