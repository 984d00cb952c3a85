/** Asks who it is: by a password, or at an OpenID provider. After an ended session, the page behind it stays as it is. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Credentials, signIn } from '../api/password.ts'
import { type EndedSession, open, type SessionState } from '../api/session.ts'
import { type OpenIdSignIn, type SignInWays, signInWays } from '../api/sign-in-ways.ts'
import { Field } from '../parts/field.tsx'
import { Dialog } from './dialog.tsx'

type Signing = { readonly kind: 'asked' } | { readonly kind: 'busy' } | { readonly kind: 'failed'; sentence: string }

export function SignIn({ state }: { readonly state: Exclude<SessionState, { kind: 'open' }> }) {
  if (state.kind === 'none') {
    return (
      <main class="sign-in">
        <h1>Sallyport</h1>
        <p class="quiet">Sign in to look at the policy that is in force.</p>
        <Ways ended={undefined} />
      </main>
    )
  }
  return (
    <Dialog label="Sign in again">
      <h2>Sign in again</h2>
      <p>Your session has ended. The page is as you left it.</p>
      <Ways ended={state} />
    </Dialog>
  )
}

/** The password comes first, where nobody says how else. */
function Ways({ ended }: { readonly ended: EndedSession | undefined }) {
  const [ways, setWays] = useState<SignInWays>({ password: true })
  useEffect(() => {
    signInWays().then(setWays, () => undefined)
  }, [])
  return (
    <>
      {ways.openId && <ProviderButton way={ways.openId} />}
      {ways.password && <SignInForm email={ended?.email ?? ''} />}
    </>
  )
}

function ProviderButton({ way }: { readonly way: OpenIdSignIn }) {
  const [state, setState] = useState<Signing>({ kind: 'asked' })
  const asking = useRef<AbortController>(undefined)
  useEffect(() => () => asking.current?.abort(), [])
  const press = async () => {
    const window = globalThis.open('', '_blank', 'popup,width=520,height=720')
    if (!window) {
      setState({ kind: 'failed', sentence: 'The browser keeps windows closed; allow this page to open one.' })
      return
    }
    // Whoever has closed the window presses again.
    asking.current?.abort()
    const mine = new AbortController()
    asking.current = mine
    setState({ kind: 'busy' })
    const sentence = await providerFailureOf(way, window, mine.signal)
    if (sentence !== undefined && asking.current === mine) setState({ kind: 'failed', sentence })
  }
  return (
    <div class="provider">
      <button type="button" class="first" onClick={() => void press()}>
        Sign in at {new URL(way.issuer).host}
      </button>
      <p role="status" class="quiet">
        {state.kind === 'busy' && 'Sign in in the window that has opened. If it is gone, press again.'}
      </p>
      <p role="alert" class="bad">
        {state.kind === 'failed' && state.sentence}
      </p>
    </div>
  )
}

/** Undefined when signed in. */
async function providerFailureOf(way: OpenIdSignIn, window: Window, signal: AbortSignal): Promise<string | undefined> {
  const loaded = await import('../api/openid.ts').catch(() => undefined)
  if (!loaded) {
    window.close()
    return 'The server does not answer; try again.'
  }
  const { signInAt, saidBy } = loaded
  try {
    open(await signInAt(way, window, signal))
    return undefined
  } catch (error) {
    window.close()
    return `The sign-in at ${new URL(way.issuer).host} failed: ${saidBy(error)}.`
  }
}

function SignInForm({ email }: { readonly email: string }) {
  const [state, setState] = useState<Signing>({ kind: 'asked' })
  const [isOneTime, setOneTime] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    setState({ kind: 'busy' })
    const sentence = await failureOf(credentialsIn(form))
    if (sentence !== undefined) setState({ kind: 'failed', sentence })
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Field label="E-mail" name="email" type="email" autocomplete="username" value={email} isRequired />
      <Field label="Password" name="password" type="password" autocomplete="current-password" isRequired />
      {isOneTime && (
        <Field label="New password" name="newPassword" type="password" autocomplete="new-password" isRequired />
      )}
      <label class="check">
        <input type="checkbox" checked={isOneTime} onChange={() => setOneTime(!isOneTime)} /> choose a new password
      </label>
      <p role="alert" class="bad">
        {state.kind === 'failed' && state.sentence}
      </p>
      <button type="submit" class="first" disabled={state.kind === 'busy'}>
        Sign in
      </button>
    </form>
  )
}

function credentialsIn(form: FormData): Credentials {
  const text = (name: string) => String(form.get(name) ?? '')
  const newPassword = text('newPassword')
  return { email: text('email'), password: text('password'), ...(newPassword !== '' && { newPassword }) }
}

/** Undefined when signed in. */
async function failureOf(credentials: Credentials): Promise<string | undefined> {
  try {
    return (await signIn(credentials))?.sentence
  } catch {
    return 'The server does not answer; try again.'
  }
}
