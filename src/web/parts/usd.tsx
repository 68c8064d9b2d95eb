/** An amount: a short text, and every digit in its title and in what is copied. Rules: pages.md "Amounts". */

import { showUsd } from './show-usd.ts'

/** `places`: of the column or the group of figures, which all its amounts have, nothing too. */
export const Usd = ({ exact, places }: Readonly<{ exact: string; places?: number }>) => (
  <data class="usd" value={exact} title={`${exact} USD`}>
    {showUsd(exact, places)}
  </data>
)
