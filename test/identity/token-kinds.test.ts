/** What else the keys of an issuer sign is no access token; access tokens as providers make them are. */
import { expect } from 'chai'
import { describeEachSource } from './each-source.ts'
import { claims, ed25519, now } from './signer.ts'

type Claims = Readonly<Record<string, unknown>>

const signer = ed25519()

const OTHERS: Readonly<Record<string, Claims>> = {
  'an ID token by its nonce': { nonce: 'n' },
  'an ID token by its at_hash': { at_hash: 'x' },
  'an ID token by its c_hash': { c_hash: 'x' },
  'an ID token by its s_hash (Financial-grade API)': { s_hash: 'x' },
  'an ID token by its hash of a refresh token (CIBA)': { 'urn:openid:params:jwt:claim:rt_hash': 'x' },
  'an ID token by its request (CIBA)': { 'urn:openid:params:jwt:claim:auth_req_id': 'x' },
  'a self-issued ID token': { sub_jwk: {} },
  "Cognito's ID token": { token_use: 'id', auth_time: now() },
  'a token with an unknown token_use': { token_use: 'refresh' },
  'a token with a token_use that is no text': { token_use: ['access'] },
  "Keycloak's ID token": { typ: 'ID', azp: 'web' },
  "Keycloak's refresh token": { typ: 'Refresh' },
  "Keycloak's offline token": { typ: 'Offline' },
  "Keycloak's logout token": { typ: 'Logout' },
  'a token with a typ that is a list': { typ: ['Bearer'] },
  'a token with a typ that is a list of another kind': { typ: ['ID'] },
  'a token with a typ that is an object': { typ: { kind: 'ID' } },
  'a token with a typ that is null': { typ: null },
  'a token with a typ that is a number': { typ: 1 },
  'a token with a typ that is false': { typ: false },
  'a token with an empty typ': { typ: '' },
  'a logout token': { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } },
  'a token bound to a key (DPoP, mutual TLS)': { cnf: { jkt: 'x' } },
  'an ID token that says Bearer': { typ: 'Bearer', at_hash: 'x' },
  'an ID token that says access': { token_use: 'access', s_hash: 'x' },
}

interface Example {
  readonly header?: Claims
  readonly claims: Claims
}

/** From the providers' documentation. */
const ACCESS_TOKENS: Readonly<Record<string, Example>> = {
  Keycloak: { claims: { typ: 'Bearer', azp: 'web', scope: 'openid', acr: '1', sid: 's', 'allowed-origins': ['*'] } },
  'Keycloak before 24': { claims: { typ: 'Bearer', nonce: 'n', session_state: 's', auth_time: now() } },
  'Entra ID for a person': { claims: { azp: 'c', azpacr: '0', scp: 'read', oid: 'o', tid: 't', uti: 'u', ver: '2.0' } },
  'Entra ID for a program': { claims: { azp: 'c', idtyp: 'app', roles: ['r'], oid: 'o', tid: 't', ver: '2.0' } },
  Auth0: { claims: { azp: 'c', scope: 'openid read', gty: 'password', permissions: ['read'] } },
  Okta: { claims: { cid: 'c', uid: 'u', scp: ['read'], ver: 1, jti: 'AT.x', auth_time: now() } },
  Cognito: {
    claims: { token_use: 'access', client_id: 'c', scope: 'read', event_id: 'e', origin_jti: 'o', version: 2 },
  },
  'AD FS': { claims: { apptype: 'Public', appid: 'a', authmethod: 'm', scp: 'read', ver: '1.0' } },
  'RFC 9068': {
    header: { typ: 'at+jwt' },
    claims: { client_id: 'c', scope: 'read', auth_time: now(), acr: 'a', amr: ['pwd'] },
  },
  'RFC 9068 with a nonce': { header: { typ: 'application/at+jwt' }, claims: { client_id: 'c', nonce: 'n' } },
}

describeEachSource('kinds of tokens', signer, (verify) => {
  for (const [name, made] of Object.entries(OTHERS)) {
    it(`${name} is no access token`, async () => {
      expect(await verify(signer.token(claims(made), { typ: 'JWT' }))).to.equal('token-invalid')
      if (!('nonce' in made))
        expect(await verify(signer.token(claims(made), { typ: 'at+jwt' }))).to.equal('token-invalid')
    })
  }

  for (const [name, { header, claims: made }] of Object.entries(ACCESS_TOKENS)) {
    it(`an access token as ${name} has it is one`, async () => {
      expect(await verify(signer.token(claims(made), { typ: 'JWT', ...header }))).to.equal('caller alice')
    })
  }
})
