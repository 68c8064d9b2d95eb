/**
 * The pictures of the pages for operators, which are the repository's own, light and dark; a binary has them inside. A picture is known by the address of its light side.
 * Rules: requests.md "Documents".
 */

import auditDark from '../../.github/pictures/audit-dark.webp' with { type: 'file' }
import auditLight from '../../.github/pictures/audit-light.webp' with { type: 'file' }
import budgetsDark from '../../.github/pictures/budgets-dark.webp' with { type: 'file' }
import budgetsLight from '../../.github/pictures/budgets-light.webp' with { type: 'file' }
import catalogDark from '../../.github/pictures/catalog-dark.webp' with { type: 'file' }
import catalogLight from '../../.github/pictures/catalog-light.webp' with { type: 'file' }
import keysDark from '../../.github/pictures/keys-dark.webp' with { type: 'file' }
import keysLight from '../../.github/pictures/keys-light.webp' with { type: 'file' }
import marginDark from '../../.github/pictures/margin-dark.webp' with { type: 'file' }
import marginLight from '../../.github/pictures/margin-light.webp' with { type: 'file' }
import requestsDark from '../../.github/pictures/requests-dark.webp' with { type: 'file' }
import requestsLight from '../../.github/pictures/requests-light.webp' with { type: 'file' }
import tagsDark from '../../.github/pictures/tags-dark.webp' with { type: 'file' }
import tagsLight from '../../.github/pictures/tags-light.webp' with { type: 'file' }

/** A side is the path of its file. Browsers keep the place of the size in pixels before they load the picture. */
type Picture = Readonly<{ name: string; light: string; dark: string; width: number; height: number }>

/** What a phone shows. */
const PHONE = { width: 375, height: 900 } as const

export const PICTURES: readonly Picture[] = [
  { name: 'audit', light: auditLight, dark: auditDark, ...PHONE },
  { name: 'budgets', light: budgetsLight, dark: budgetsDark, width: 1280, height: 960 },
  { name: 'catalog', light: catalogLight, dark: catalogDark, ...PHONE },
  { name: 'keys', light: keysLight, dark: keysDark, ...PHONE },
  { name: 'margin', light: marginLight, dark: marginDark, width: 1280, height: 640 },
  { name: 'requests', light: requestsLight, dark: requestsDark, ...PHONE },
  { name: 'tags', light: tagsLight, dark: tagsDark, width: 1280, height: 1280 },
]

type Side = 'light' | 'dark'

export const pictureAddress = (name: string, side: Side): string => `/docs/pictures/${name}-${side}.webp`

/** The file behind an address. */
export const pictureFileOf = (address: string): string | undefined =>
  PICTURES.flatMap(({ name, light, dark }) => [
    { at: pictureAddress(name, 'light'), file: light },
    { at: pictureAddress(name, 'dark'), file: dark },
  ]).find(({ at }) => at === address)?.file

/**
 * A picture in the reader's theme, on paper the light one; one of a phone is a third as wide; a click shows that side in its own size: each side is a link of its own, of which the style sheet shows one, and a
 * browser loads no other. `alt` is HTML. Undefined: there is no such picture.
 */
export function pictureHtml(address: string, alt: string): string | undefined {
  const picture = PICTURES.find(({ name }) => pictureAddress(name, 'light') === address)
  if (picture === undefined) return undefined
  const { name, width, height } = picture
  const kind = width === PHONE.width ? 'picture phone' : 'picture'
  const sideHtml = (side: Side): string => {
    const own = pictureAddress(name, side)
    return `<a class="${kind} ${side}" href="${own}"><img src="${own}" alt="${alt}" width="${width}" height="${height}" loading="lazy"></a>`
  }
  return sideHtml('light') + sideHtml('dark')
}
