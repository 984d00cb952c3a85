/** The page's address: which page, and its filters. A link to it opens the same view. */
import { createStore, useStore } from '../parts/store.ts'

interface Address {
  readonly path: string
  readonly query: URLSearchParams
  /** Another one when somebody opened a page or asked, even if they asked for the same. */
  readonly step: number
}

let step = 0

const address = createStore(read())
window.addEventListener('popstate', () => address.set(read()))

function read(): Address {
  return { path: location.pathname, query: new URLSearchParams(location.search), step }
}

export function useAddress(): Address {
  return useStore(address)
}

/** Opens a page; empty values stay out of its address. */
export function go(path: string, query: Readonly<Record<string, string>> = {}): void {
  step += 1
  history.pushState(null, '', hrefOf(path, query))
  address.set(read())
}

export function hrefOf(path: string, query: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path
}

/** A filter changes the view, and is no step that `back` takes. */
export function setFilter(name: string, value: string): void {
  const { path, query } = read()
  history.replaceState(null, '', hrefOf(path, { ...Object.fromEntries(query), [name]: value }))
  address.set(read())
}
