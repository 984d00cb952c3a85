/** Dark or light: that of the system, or the one that the person chose in this browser. */

const KEY = 'sallyport.theme'
const THEMES = ['system', 'light', 'dark'] as const

export type Theme = (typeof THEMES)[number]

export function readTheme(): Theme {
  return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system'
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme(theme)
}

/** console.css has the colours of each. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
}

export function themeAfter(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
}
