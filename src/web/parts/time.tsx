/** A moment as text, which programs can read, too; the exact moment stands in its title. */

import { showAgo, showMoment } from './show-time.ts'

export const Moment = ({ iso }: Readonly<{ iso: string }>) => (
  <time dateTime={iso} title={iso}>
    {showMoment(iso)}
  </time>
)

export const Ago = ({ iso }: Readonly<{ iso: string }>) => (
  <time dateTime={iso} title={iso}>
    {showAgo(iso, Date.now())}
  </time>
)
