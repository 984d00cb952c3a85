/** The frame of all pages: the sign-in, the navigation, what the server's state means for the reader, and the page. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { trouble } from '../api/ask.ts'
import '../api/kept.ts'
import { session, signOut } from '../api/session.ts'
import { LazyPage } from '../pages/lazy.tsx'
import { PAGES, type PageId, type PageInfo } from '../pages.ts'
import { useStore } from '../parts/store.ts'
import { useAddress } from './address.ts'
import { Help } from './help.tsx'
import { useKeys } from './keys.ts'
import { Link } from './link.tsx'
import { SignIn } from './sign-in.tsx'
import { chooseTheme, readTheme, themeAfter } from './theme.ts'

export function App() {
  const state = useStore(session)
  return (
    <>
      {state.kind !== 'open' && <SignIn key={state.kind} state={state} />}
      {state.kind !== 'none' && <Frame key={state.person} email={state.email} />}
    </>
  )
}

function Frame({ email }: { readonly email: string }) {
  const { path } = useAddress()
  const page = PAGES.find((one) => one.path === path)
  const [isHelpOpen, setHelpOpen] = useState(false)
  useKeys(useCallback(() => setHelpOpen(true), []))
  return (
    <>
      <a class="skip" href="#content">
        Skip to the page
      </a>
      <header class="bar">
        <strong>Sallyport</strong>
        <Navigation current={page} />
        <div class="account">
          <ThemeButton />
          <button type="button" onClick={() => setHelpOpen(true)} aria-label="Help with keys" aria-keyshortcuts="?">
            ?
          </button>
          <span class="email">{email}</span>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </header>
      <Trouble />
      {page ? <PageFrame key={page.id} page={page} /> : <Nowhere />}
      {isHelpOpen && <Help close={() => setHelpOpen(false)} />}
    </>
  )
}

function Navigation({ current }: { readonly current: PageInfo | undefined }) {
  return (
    <nav aria-label="Pages">
      {PAGES.map(({ id, path, title, letter }) => (
        <Link key={id} to={path} isCurrent={id === current?.id} hint={`g ${letter}`}>
          {title}
        </Link>
      ))}
    </nav>
  )
}

function PageFrame({ page }: { readonly page: (typeof PAGES)[number] }) {
  const content = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${page.title} - Sallyport`
    content.current?.focus()
  }, [page])
  return (
    <main id="content" ref={content} tabIndex={-1}>
      <h1 class="away">{page.title}</h1>
      <LazyPage id={page.id satisfies PageId} />
    </main>
  )
}

function Nowhere() {
  return (
    <main id="content" tabIndex={-1}>
      <p class="sentence">
        The console has no such page; open the <Link to="/">overview</Link>.
      </p>
    </main>
  )
}

/** Told aloud too, since nothing else on the page changes. */
function Trouble() {
  const sentence = useStore(trouble)
  return (
    <div role="status" class="trouble" hidden={sentence === undefined}>
      {sentence}
    </div>
  )
}

function ThemeButton() {
  const [theme, setTheme] = useState(readTheme)
  const next = themeAfter(theme)
  const choose = () => {
    chooseTheme(next)
    setTheme(next)
  }
  return (
    <button type="button" onClick={choose} title={`Change to ${next}`}>
      Colours: {theme}
    </button>
  )
}
