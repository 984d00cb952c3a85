/** Signs in with an e-mail address and a password. After an ended session, the page behind it stays as it is. */
import { useState } from 'preact/hooks'
import { type Credentials, type SessionState, signIn } from '../api/session.ts'
import { Field } from '../parts/field.tsx'
import { Dialog } from './dialog.tsx'

type Signing = { readonly kind: 'asked' } | { readonly kind: 'busy' } | { readonly kind: 'failed'; sentence: string }

export function SignIn({ state }: { readonly state: SessionState }) {
  if (state.kind !== 'ended') {
    return (
      <main class="sign-in">
        <h1>Sallyport</h1>
        <p class="quiet">Sign in to look at the policy that is in force.</p>
        <SignInForm email="" />
      </main>
    )
  }
  return (
    <Dialog label="Sign in again">
      <h2>Sign in again</h2>
      <p>Your session has ended. The page is as you left it.</p>
      <SignInForm email={state.email} />
    </Dialog>
  )
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
