/** Keys that work on every page: `?`, `/`, and `g` before a page's letter. */
import { useEffect } from 'preact/hooks'
import { PAGES } from '../pages.ts'
import { go } from './address.ts'

/** A letter counts for so long after `g`. */
const SECOND_KEY_MS = 1500

export function useKeys(openHelp: () => void): void {
  useEffect(() => {
    let chosen = Number.NEGATIVE_INFINITY
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || document.querySelector('dialog[open]'))
        return
      const isSecond = performance.now() - chosen < SECOND_KEY_MS
      chosen = event.key === 'g' && !isSecond ? performance.now() : Number.NEGATIVE_INFINITY
      if (act(event.key, isSecond, openHelp)) event.preventDefault()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [openHelp])
}

/** Whether the key meant something. */
function act(key: string, isSecond: boolean, openHelp: () => void): boolean {
  const page = isSecond ? PAGES.find(({ letter }) => letter === key) : undefined
  if (page) go(page.path)
  else if (key === '?') openHelp()
  else if (key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus()
  else return false
  return true
}

/** Also in an editor, which stands in a tree of its own. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath()
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  )
}
