/** Entry of the console: which page stands at which address. */

import { render } from 'preact'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router'
import { Shell, type Way } from '../parts/shell.tsx'
import { Missing } from './pages/missing.tsx'

const WAYS: readonly Way[] = []

const Console = () => {
  const { path } = useLocation()
  return (
    <Shell home="/console" name="Console" ways={WAYS} path={path}>
      <Router>
        <Route path="/console" component={Missing} />
        <Route default component={Missing} />
      </Router>
    </Shell>
  )
}

const frame = document.getElementById('app')
if (frame !== null)
  render(
    <LocationProvider scope="/console">
      <Console />
    </LocationProvider>,
    frame,
  )
