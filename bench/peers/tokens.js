// Verifies bearer tokens with fast-jwt. With JWT_CACHE=1 it keeps those that it has verified, as its documentation advises.
import { createVerifier } from 'fast-jwt'

const { SECRET, ISSUER, AUDIENCE, JWT_CACHE } = process.env

const verify = createVerifier({
  key: SECRET,
  algorithms: ['HS256'],
  allowedIss: ISSUER,
  allowedAud: AUDIENCE,
  cache: JWT_CACHE === '1' ? 10_000 : false,
})

/** A hook of Fastify: puts the claims into `request.user`, or answers 401. */
export async function authenticate(request, reply) {
  const [scheme, token] = (request.headers.authorization ?? '').split(' ')
  try {
    if (scheme !== 'Bearer') throw new Error('no bearer token')
    request.user = verify(token)
  } catch {
    return reply.code(401).send({ error: 'unauthorized' })
  }
}
