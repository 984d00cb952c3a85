/** Each page is a part of its own, loaded when it is first opened. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PageId } from '../pages.ts'

const LOADERS: Readonly<Record<PageId, () => Promise<ComponentType>>> = {
  overview: async () => (await import('./overview.tsx')).Overview,
  access: async () => (await import('./access.tsx')).Access,
  ask: async () => (await import('./ask.tsx')).Ask,
  who: async () => (await import('./who.tsx')).Who,
  decisions: async () => (await import('./decisions.tsx')).Decisions,
  draft: async () => (await import('./draft.tsx')).Draft,
  tests: async () => (await import('./tests.tsx')).Tests,
  usage: async () => (await import('./usage.tsx')).Usage,
  review: async () => (await import('./review.tsx')).Review,
  changes: async () => (await import('./changes.tsx')).Changes,
}

type Loaded = { readonly Page: ComponentType } | 'failed' | undefined

export function LazyPage({ id }: { readonly id: PageId }) {
  const [loaded, setLoaded] = useState<Loaded>()
  useEffect(() => {
    LOADERS[id]().then(
      (Page) => setLoaded({ Page }),
      () => setLoaded('failed'),
    )
  }, [id])
  if (loaded === 'failed') {
    return <p class="sentence">The page can't be loaded: the server is away, or has another version; reload.</p>
  }
  return loaded ? (
    <loaded.Page />
  ) : (
    <p class="sentence quiet" data-loading>
      The page is loading…
    </p>
  )
}
