/** The page to which a sign-in leads back: always a page of the cabinet, whatever an address says. Rules: pages.md "Ways through". */

const HOME = '/cabinet'

/** `text`: the path as it stands in the address. */
export function ownPath(text: string | undefined, origin: string): string {
  const address = text === undefined ? null : URL.parse(text, origin)
  if (address === null || address.origin !== origin) return HOME
  const { pathname, search } = address
  return pathname === HOME || pathname.startsWith(`${HOME}/`) ? `${pathname}${search}` : HOME
}

export const signInPath = (to: string): string => `${HOME}/sign-in?to=${encodeURIComponent(to)}`
