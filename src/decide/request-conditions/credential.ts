/** The caller has one of these kinds of credential: `{ credential: [api-key] }`. */
import type { ConditionKind } from './condition-kind.ts'

const CREDENTIALS = ['password', 'api-key', 'provider'] as const
export type Credential = (typeof CREDENTIALS)[number]

export interface CredentialKind {
  readonly kind: 'credential'
  readonly name: string
  readonly credentials: readonly Credential[]
}

interface CredentialForm {
  readonly credential: readonly Credential[]
}

export const credential: ConditionKind<CredentialKind, CredentialForm> = {
  isForm: (form): form is CredentialForm => 'credential' in form,
  needsCaller: true,
  parse: (name, form) => ({ kind: 'credential', name, credentials: form.credential }),
  holds: ({ credentials }, { hasCredentials, credential: used }) =>
    hasCredentials && credentials.some((one) => one === used),
  describe: ({ credentials }) => `the credential is ${credentials.map((one) => WORDS[one]).join(' or ')}`,
  meaning: ({ credentials }) => JSON.stringify(['credential', ...new Set(credentials.toSorted())]),
  isWithin: (one, other) => one.credentials.every((kind) => other.credentials.includes(kind)),
  /** One kind more, or one kind fewer. */
  mistakes({ credentials }) {
    const more = CREDENTIALS.filter((one) => !credentials.includes(one)).map((one) => [...credentials, one])
    const fewer = credentials.length < 2 ? [] : credentials.map((left) => credentials.filter((one) => one !== left))
    return [...more, ...fewer].map((some) => ({ credential: some }))
  },
}

const WORDS: Readonly<Record<Credential, string>> = {
  password: "a token of this server's sign-in",
  'api-key': 'an API key',
  provider: 'a token of an OpenID provider',
}
