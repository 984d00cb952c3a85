/** A link to a page of the console, which opens without a reload. */
import type { ComponentChildren } from 'preact'
import { go, hrefOf } from './address.ts'

interface LinkProps {
  readonly to: string
  readonly query?: Readonly<Record<string, string>>
  readonly isCurrent?: boolean
  /** Keys that do the same. */
  readonly hint?: string
  readonly children: ComponentChildren
}

export function Link({ to, query = {}, isCurrent = false, hint, children }: LinkProps) {
  const open = (event: MouseEvent) => {
    // Everything else is the browser's: another tab, a download.
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to, query)
  }
  return (
    <a
      href={hrefOf(to, query)}
      onClick={open}
      aria-current={isCurrent ? 'page' : undefined}
      aria-keyshortcuts={hint}
      title={hint && `Keys: ${hint}`}
    >
      {children}
    </a>
  )
}
