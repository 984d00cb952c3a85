/** What `npm start` prints: the address, the callers, one request to try, and how to get the token of any caller. */
import { DEMO_CALLERS, DEMO_PASSWORD, demoEmail } from './demo-data.ts'

/** `program` is the shell command that starts sallyport. */
export function welcome(url: string, program: string): string {
  const tokenOf = (id: string) => {
    const roles = DEMO_CALLERS.find((caller) => caller.id === id)?.roles ?? []
    return [program, 'token', '--subject', id, ...roles.flatMap((role) => ['--role', role])].join(' ')
  }
  const callers = DEMO_CALLERS.map(({ id, roles }) => `${id} (${roles.join(', ')})`)
  const others = DEMO_CALLERS.map(({ id }) => id).filter((id) => id !== 'alice')
  return `Sallyport listens on ${url}

Demo callers: ${callers.join(', ')}

In a second terminal, in this folder: alice lists her notes, and nobody else's.

curl -s ${url}/api/v1/notes -H "Authorization: Bearer $(${tokenOf('alice')})"

Tokens of the others, for an hour each:

${others.map(tokenOf).join('\n')}

Each caller also signs in (POST /api/tokens) as ${demoEmail('<name>')} with the password ${DEMO_PASSWORD}.
`
}
