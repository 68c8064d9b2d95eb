/** The frame around every page of cabinet and console: brand, the links to its pages, the person, the page. */

import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Told } from './told.tsx'

/** `group`: what it is about; links of one group follow each other. */
export type PageLink = Readonly<{ path: string; title: string; group?: string }>

/** `path`: the path of the page that is shown. `find`: the field that finds things. `aside`: the end of the bar, such as the account and the person. */
export const Shell = ({
  home,
  name,
  links,
  path,
  find,
  aside,
  children,
}: Readonly<{
  home: string
  name: string
  links: readonly PageLink[]
  path: string
  find?: ComponentChildren
  aside?: ComponentChildren
  children: ComponentChildren
}>) => (
  <div class="shell">
    <a class="skip" href="#content">
      Skip to content
    </a>
    <header class="bar">
      <Brand home={home} name={name} />
      {find}
      {aside !== undefined && <div class="aside">{aside}</div>}
    </header>
    {links.length > 0 && <PageLinks home={home} name={name} links={links} path={path} />}
    <main id="content" tabIndex={-1}>
      {children}
    </main>
    <Told />
  </div>
)

type Links = Readonly<{ home: string; name: string; links: readonly PageLink[]; path: string }>

/** On a phone they scroll, and the own link of the page is in sight. */
const PageLinks = ({ home, name, links, path }: Links) => {
  const bar = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const [nav, own] = [bar.current, bar.current?.querySelector('[aria-current]')]
    if (nav === null || own == null) return
    const [around, at] = [nav.getBoundingClientRect(), own.getBoundingClientRect()]
    nav.scrollLeft += at.left - around.left - (around.width - at.width) / 2
  }, [path, links.length])
  return (
    <nav ref={bar} class="page-links" aria-label={name}>
      <ul>
        {groupsOf(links).map(({ group, of }) => (
          <li key={group}>
            {group !== '' && <span aria-hidden="true">{group}</span>}
            <ul {...(group === '' ? {} : { 'aria-label': group })}>
              {of.map((link) => (
                <li key={link.path}>
                  <a
                    href={link.path}
                    aria-current={link.path === path ? 'page' : link.path !== home && path.startsWith(`${link.path}/`) ? 'true' : undefined}
                  >
                    {link.title}
                  </a>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const groupsOf = (links: readonly PageLink[]) =>
  [...new Set(links.map(({ group = '' }) => group))].map((group) => ({ group, of: links.filter((link) => (link.group ?? '') === group) }))

/** A page's head: its title and its buttons. It also sets the document's title. */
export const PageHead = ({ title, lede, children }: Readonly<{ title: string; lede?: string; children?: ComponentChildren }>) => {
  document.title = `${title} – Tollgate`
  return (
    <div class="page-head">
      <div>
        <h1>{title}</h1>
        {lede !== undefined && <p class="lede">{lede}</p>}
      </div>
      {children !== undefined && <div class="acts">{children}</div>}
    </div>
  )
}

const Brand = ({ home, name }: Readonly<{ home: string; name: string }>) => (
  <a class="brand" href={home}>
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#0b6650" />
      <path d="M8 24V12M24 24V12M8 16 24 9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    </svg>
    <span>
      Tollgate <span class="place">{name}</span>
    </span>
  </a>
)
