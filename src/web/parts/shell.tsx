/** The frame around every page of cabinet and console: brand, the ways through it, the person, the page. */

import type { ComponentChildren } from 'preact'
import { Told } from './told.tsx'

export type Way = Readonly<{ path: string; title: string }>

/** `path`: where one is. `aside`: at the end of the bar, such as the account and the person. */
export const Shell = ({
  home,
  name,
  ways,
  path,
  aside,
  children,
}: Readonly<{
  home: string
  name: string
  ways: readonly Way[]
  path: string
  aside?: ComponentChildren
  children: ComponentChildren
}>) => (
  <div class="shell">
    <a class="skip" href="#content">
      Skip to content
    </a>
    <header class="bar">
      <Brand home={home} name={name} />
      {aside !== undefined && <div class="aside">{aside}</div>}
    </header>
    {ways.length > 0 && (
      <nav class="ways" aria-label={name}>
        <ul>
          {ways.map((way) => (
            <li key={way.path}>
              <a
                href={way.path}
                aria-current={way.path === path ? 'page' : way.path !== home && path.startsWith(`${way.path}/`) ? 'true' : undefined}
              >
                {way.title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    )}
    <main id="content" tabIndex={-1}>
      {children}
    </main>
    <Told />
  </div>
)

/** A page's head: its title and what can be done there. It names the document, too. */
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
