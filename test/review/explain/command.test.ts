/** `sallyport policy explain` as its users meet it: the text, the JSON, and one sentence for what can't be explained. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { exitCodeOf, run, SHIPPED } from './program.ts'

const SCHEMA = JSON.parse(
  readFileSync(new URL('../../../docs/schemas/policy-explain.schema.json', import.meta.url), 'utf8'),
)
const validate = new Ajv2020({ allErrors: true }).compile(SCHEMA)

const DELETE_ORDER = `\
DENY      DELETE /api/orders/{id}: a client gets 403 forbidden (Not permitted)
          because no rule allows it to this caller on an object with these relations
Caller    anybody with the role support (inherits member)
Asks for  delete on orders
Relation  owner      yes: --relation says so
          draft      no: --relation says so
          placed     no: --relation says so
          shipped    no: --relation says so
          cancelled  no: --relation says so
          open       no: --relation says so
Rules     no rule matches, and nothing is allowed without a rule
Nearest   it would be allowed
            if the object were draft (status is draft)
              policy.csv:28  p, member, orders, delete, owner+draft, *, allow
            if the caller had the role admin
              policy.csv:53  p, admin, orders, list|read|create|replace|update|delete, any, *, allow
`

const READ_USER = `\
ALLOW     GET /api/users/{id}: a client gets 200
          because a rule allows it, whatever the object
Caller    anybody with the role support (inherits member)
Asks for  read on users
Relation  owner  not known: it holds if id is the caller
Rules     policy.csv:31  p, member, users, read, owner, *, allow
            support inherits member (policy.csv:35)
          policy.csv:41  p, support, users, list|read, any, contact, allow
Cases     owner           200                   policy.csv:31, policy.csv:41
          otherwise       200                   policy.csv:41
          no such object  404 object-not-found
Fields    owner:
            shown: all fields
          otherwise:
            shown: id, email, displayName
            not shown: bio, department, roles, createdAt, updatedAt
`

const QUESTIONS: readonly (readonly string[])[] = [
  ['GET', '/api/v1/notes'],
  ['OPTIONS', '*'],
  ['PUT', '/api/orders'],
  ['GET', '/nothing'],
  ['--role', 'member', 'GET', '/api/orders'],
  ['--role', 'auditor', '--role', 'member', 'DELETE', '/api/v1/notes/{id}'],
  ['--subject', 'zed', 'PATCH', '/profile'],
  ['--role', 'admin', 'POST', '/api/users'],
]

describe('sallyport policy explain', () => {
  it('says in a few lines what is answered, why, and what is missing', async () => {
    const role = ['--role', 'support']
    const refused = await run(SHIPPED, [...role, 'DELETE', '/api/orders/{id}', '--relation', 'owner'])
    expect(refused).to.deep.equal({ failed: false, stdout: DELETE_ORDER, stderr: '' })
    const allowed = await run(SHIPPED, [...role, 'GET', '/api/users/{id}'])
    expect(allowed).to.deep.equal({ failed: false, stdout: READ_USER, stderr: '' })
  })

  it('says of a list which objects are in it', async () => {
    const reasonOf = async (...args: readonly string[]) => {
      const { stdout } = await run(SHIPPED, ['GET', '/api/accounts', ...args])
      return stdout.split('\n')[1]?.trim()
    }
    expect(await reasonOf('--role', 'auditor')).to.equal('because every object is in the list')
    expect(await reasonOf('--role', 'member')).to.equal('because the list has the objects that the rules allow')
    expect(await reasonOf('--role', 'member', '--relation', 'owner')).to.equal('because such an object is in the list')
    expect(await reasonOf('--role', 'member', '--relation', 'none')).to.equal(
      'because the list is answered, but such an object is not in it',
    )
  })

  it('prints JSON of the documented shape', async () => {
    for (const question of QUESTIONS) {
      const { failed, stdout } = await run(SHIPPED, [...question, '--format', 'json'])
      expect(failed).to.equal(false)
      expect(validate(JSON.parse(stdout)), `${question}: ${JSON.stringify(validate.errors)}`).to.equal(true)
    }
  })

  it('JSON of another shape would be found', async () => {
    const { stdout } = await run(SHIPPED, ['GET', '/api/v1/notes', '--format', 'json'])
    expect(validate({ ...JSON.parse(stdout), more: true })).to.equal(false)
    expect(validate({ ...JSON.parse(stdout), answer: 401 })).to.equal(false)
  })

  it('takes a path with an id, the pattern of a schema, and a whole URL', async () => {
    const route = async (path: string) =>
      JSON.parse((await run(SHIPPED, ['--role', 'member', 'get', path, '--format', 'json'])).stdout).request
    const orders = { method: 'GET', route: '/api/orders/{id}', resource: 'orders', action: 'read' }
    expect(await route('/api/orders/a%20b')).to.deep.equal({ ...orders, path: '/api/orders/a%20b', object: 'a b' })
    expect(await route('/api/orders/{id}')).to.deep.equal({ ...orders, path: '/api/orders/{id}', object: null })
    expect(await route('http://localhost:3000/api/orders/{id}')).to.deep.equal({
      ...orders,
      path: '/api/orders/{id}',
      object: null,
    })
  })

  it('exits with 0 for what is allowed and 1 for anything else, where --exit-code asks for it', async () => {
    const codeOf = (...question: readonly string[]) => exitCodeOf(SHIPPED, question)
    expect(await codeOf('--exit-code', '--role', 'member', 'GET', '/api/orders')).to.equal(0)
    expect(await codeOf('--exit-code', '--role', 'member', 'DELETE', '/api/users/bob')).to.equal(1)
    expect(await codeOf('--exit-code', '--role', 'member', 'GET', '/api/orders/{id}'), 'it depends').to.equal(1)
    expect(await codeOf('--role', 'member', 'DELETE', '/api/users/bob')).to.equal(0)
  })

  it('says in one sentence what it cannot explain', async () => {
    const refused = async (...args: readonly string[]) => {
      const { failed, stdout, stderr } = await run(SHIPPED, args)
      expect({ failed, stdout }).to.deep.equal({ failed: true, stdout: '' })
      expect(stderr.trim().split('\n'), stderr).to.have.length(1)
      return stderr
    }
    const order = ['--role', 'member', 'GET', '/api/orders/{id}']
    expect(await refused()).to.equal(
      'ToolError: nothing to explain: give METHOD and PATH, as in GET /api/orders/{id}, or --record FILE',
    )
    expect(await refused(...order, '--relation', 'ownr')).to.equal(
      'ToolError: ownership.yaml declares no relation ownr for orders: name one of owner, draft, placed, shipped, cancelled, open, none; did you mean `owner`?',
    )
    expect(await refused('GET', '/api/orders/{id}', '--relation', 'owner')).to.include("can't be owner")
    expect(await refused(...order, '--relation', 'owner', '--object', '1')).to.include('not both')
    expect(await refused(...order, '--object', '1')).to.include('there is no such file): set DATA_DIR')
    expect(await refused('--role', 'member', 'GET', '/api/orders/2', '--object', '1')).to.include('--object names 1')
    expect(await refused('--role', 'member', 'POST', '/api/orders', '--object', '1')).to.include('--relation')
    expect(await refused('OPTIONS', '/api/orders', '--relation', 'draft')).to.include('omit --relation')
    expect(await refused('GET', '/api/orders?limit=1')).to.include('the path has a query string: omit it')
    expect(await refused('--role', 'membr', 'GET', '/profile')).to.equal(
      'ToolError: roles.yaml declares no role membr: name one of member, support, auditor, admin, pdp-client; did you mean `member`?',
    )
    expect(await refused('--subject', 'user:alice', 'GET', '/profile')).to.include(
      '--subject is not the id of a caller',
    )
    expect(await refused('--record', '-', 'GET', '/profile')).to.include('give --record alone')
    expect(await refused('--record', '/nowhere/log')).to.include('ENOENT')
    expect(await refused('--record', '/dev/null')).to.include('/dev/null holds no decision record')
  })
})
