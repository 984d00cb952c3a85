/** Starts the console in its page. */
import { render } from 'preact'
import { handOver, isSignedInWindow } from './api/signed-in.ts'
import { App } from './shell/app.tsx'
import { applyTheme, readTheme } from './shell/theme.ts'

applyTheme(readTheme())
const place = document.getElementById('console')
if (isSignedInWindow()) {
  handOver()
  // A browser may keep the window open.
  if (place) render(<p class="sentence">You may close this window.</p>, place)
} else if (place) render(<App />, place)
