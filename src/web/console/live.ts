/**
 * The gateway at each moment, for as long as the page is visible: nothing is asked while the tab is hidden, and a connection that was lost is tried again with
 * growing pauses. Rules: pages.md "Now".
 */

import { useEffect, useState } from 'preact/hooks'
import type { NowDocument } from '../now/document.ts'
import { loadMe } from './me.ts'

/** `retryS`: the seconds until the next try to connect. `history`: the snapshots of the last two minutes, the oldest first. */
export type Live = Readonly<{
  state: 'connecting' | 'live' | 'lost' | 'paused'
  retryS: number
  history: readonly NowDocument[]
}>

const HISTORY_MAX = 120
const RETRY_S_MAX = 30
/** A connection without an event for this long counts as lost, even if it looks open. */
const SILENT_MS = 5_000

export function useNow(): Live {
  const [live, setLive] = useState<Live>({ state: 'connecting', retryS: 0, history: [] })
  useEffect(() => {
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let pauseS = 1
    const say = (state: Live['state'], retryS = 0): void => setLive(({ history }) => ({ state, retryS, history }))
    const close = (): void => {
      source?.close()
      source = undefined
      clearTimeout(timer)
    }
    const wait = (leftS: number): void => {
      say('lost', leftS)
      timer = setTimeout(() => (leftS <= 1 ? connect() : wait(leftS - 1)), 1_000)
    }
    const lose = (): void => {
      close()
      // The cause may be that the session has ended.
      loadMe().catch(() => undefined)
      wait(pauseS)
      pauseS = Math.min(RETRY_S_MAX, pauseS * 2)
    }
    const watch = (): void => {
      clearTimeout(timer)
      timer = setTimeout(lose, SILENT_MS)
    }
    const connect = (): void => {
      close()
      source = new EventSource('/console/api/now')
      source.onerror = lose
      source.onmessage = ({ data }: MessageEvent<string>) => {
        pauseS = 1
        watch()
        const now = JSON.parse(data) as NowDocument
        setLive(({ history }) => ({ state: 'live', retryS: 0, history: [...history.slice(1 - HISTORY_MAX), now] }))
      }
      watch()
    }
    const onVisibility = (): void => {
      close()
      if (document.hidden) say('paused')
      else connect()
    }
    document.addEventListener('visibilitychange', onVisibility)
    onVisibility()
    return () => {
      document.removeEventListener('visibilitychange', onVisibility)
      close()
    }
  }, [])
  return live
}
