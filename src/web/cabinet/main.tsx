/** Entry of the cabinet: which page stands at which address. */

import { render } from 'preact'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router'
import { Shell, type Way } from '../parts/shell.tsx'
import { LookUpKey } from './pages/key.tsx'
import { Missing } from './pages/missing.tsx'

const WAYS: readonly Way[] = []

const Cabinet = () => {
  const { path } = useLocation()
  return (
    <Shell home="/cabinet" name="Cabinet" ways={WAYS} path={path}>
      <Router>
        <Route path="/cabinet/key" component={LookUpKey} />
        <Route default component={Missing} />
      </Router>
    </Shell>
  )
}

const frame = document.getElementById('app')
if (frame !== null)
  render(
    <LocationProvider scope="/cabinet">
      <Cabinet />
    </LocationProvider>,
    frame,
  )
