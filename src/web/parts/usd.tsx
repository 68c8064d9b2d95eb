/** An amount: a short text, and every digit in its title and in what is copied. Rules: pages.md "Amounts". */

import { showUsd, usdInColumn } from './show-usd.ts'

/** `places`: of the column, whose room for decimals is kept also where nothing stands in it. */
export const Usd = ({ exact, places }: Readonly<{ exact: string; places?: number }>) => {
  const { text, room } = places === undefined ? { text: showUsd(exact), room: '' } : usdInColumn(exact, places)
  return (
    <data class="usd" value={exact} title={`${exact} USD`} {...(room === '' ? {} : { 'data-room': room })}>
      {text}
    </data>
  )
}
