/** Starts the console in its page. */
import { render } from 'preact'
import { App } from './shell/app.tsx'
import { applyTheme, readTheme } from './shell/theme.ts'

applyTheme(readTheme())
const place = document.getElementById('console')
if (place) render(<App />, place)
