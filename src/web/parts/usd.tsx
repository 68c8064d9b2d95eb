/** An amount: a short text, and every digit in its title and in what is copied. Rules: pages.md "Amounts". */

import { showUsd } from './show-usd.ts'

export const Usd = ({ exact, places }: Readonly<{ exact: string; places?: number }>) => (
  <data class="usd" value={exact} title={`${exact} USD`}>
    {places === undefined ? showUsd(exact) : showUsd(exact, places)}
  </data>
)
