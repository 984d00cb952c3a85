/** What `npm start` prints: the address, the callers with a token each, how they sign in, and three requests to try. */
import { DEMO_CALLERS, DEMO_PASSWORD, demoEmail } from './demo-data.ts'

/** `tokens` by caller id. */
export function welcome(url: string, tokens: ReadonlyMap<string, string>): string {
  const tokenOf = (id: string) => tokens.get(id) ?? ''
  const callers = DEMO_CALLERS.map(({ id, roles }) => `${id} (${roles.join(', ')})\n${tokenOf(id)}\n`)
  const signIn = JSON.stringify({ email: demoEmail('alice'), password: DEMO_PASSWORD })
  return `Sallyport listens on ${url}

Demo callers, each with a token for twelve hours:

${callers.join('\n')}
Each of them signs in with the password ${DEMO_PASSWORD}:

curl -s ${url}/api/tokens -H 'Content-Type: application/json' -d '${signIn}'

Try:

# alice lists her notes, and nobody else's
curl -s ${url}/api/v1/notes -H 'Authorization: Bearer ${tokenOf('alice')}'

# support moves any order on, but sees no notes of others
curl -s ${url}/api/orders -H 'Authorization: Bearer ${tokenOf('sam')}'

# an auditor changes nothing: 403
curl -s -i -X POST ${url}/api/v1/notes -H 'Authorization: Bearer ${tokenOf('audrey')}' -H 'Content-Type: application/json' -d '{"title":"hello"}'
`
}
