/** The document of one caller: just the operations and fields that the caller has. */
import { expect } from 'chai'
import fc from 'fast-check'
import { columnOfRoles, concernsObject, routeMethodsOf } from '../../src/decide/callers-and-routes.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { relationSetsOf } from '../policy/relation-sets.ts'
import { evaluate } from '../review/plain-evaluation.ts'
import { type Document, documentFor, operationsOf, policyFiles, shipped, wholeDocument } from './fixture.ts'

const ROLES = ['member', 'support', 'auditor', 'admin']

describe('the document of a caller', () => {
  const world = shipped()

  it('has the operations that the policy grants on some object, and no other', async () => {
    const auditor = operationsOf(await documentFor(world, 'auditor'))
    expect(auditor).to.include.members(['GET /api/orders', 'GET /api/users/{id}'])
    const writes = auditor.filter((one) => /^(POST|PUT|PATCH|DELETE) (?!\/policy\/v1\/)/.test(one))
    expect(writes).to.deep.equal(['DELETE /api/tokens/current', 'POST /api/tokens'])
    const member = operationsOf(await documentFor(world, 'member'))
    expect(member).to.include.members(['POST /api/orders', 'PATCH /profile'])
    expect(member).to.not.include.members(['GET /api/users']).and.not.include('POST /api/accounts')
    expect(operationsOf(await documentFor(world, 'admin'))).to.include('POST /api/accounts')
  })

  it('without credentials is what anonymous has', async () => {
    const operations = operationsOf(await documentFor(world))
    expect(operations.filter((one) => !/^(OPTIONS|HEAD)/.test(one))).to.deep.equal([
      'GET /.well-known/authzen-configuration',
      'GET /.well-known/jwks.json',
      'GET /livez',
      'GET /openapi.json',
      'GET /profile/{id}',
      'GET /readyz',
      'POST /api/tokens',
    ])
  })

  it('has the fields that the caller may see and write, and tells of no other', async () => {
    const support = await documentFor(world, 'support')
    const { UserListed, UserCan } = support.components.schemas
    expect(Object.keys(UserListed.properties)).to.deep.equal(['id', 'email', 'displayName', 'can'])
    expect(UserCan.properties.actions.items.enum).to.deep.equal(['read', 'update', 'profile'])
    expect(UserCan.properties.fields.items.enum).to.deep.equal(['email', 'displayName', 'bio'])
    const anonymous = JSON.stringify(await documentFor(world))
    for (const field of ['"roles"', 'department', 'customerId']) expect(anonymous).to.not.include(field)
    const member = await documentFor(world, 'member')
    expect(Object.keys(member.components.schemas.UserPatch.properties)).to.deep.equal(['email', 'displayName', 'bio'])
  })

  it('filters and sorts by what every row shows', async () => {
    const names = (document: Document) =>
      document.paths['/api/users'].get.parameters.flatMap((one: Document) => (one.name ? [one.name] : []))
    expect(names(await documentFor(world, 'support')))
      .to.include.members(['email', 'sort'])
      .and.not.include('department')
    expect(names(await documentFor(world, 'admin'))).to.include.members(['department', 'createdAt[gte]'])
  })

  it('holds no component that nothing refers to', async () => {
    for (const document of [await documentFor(world), await documentFor(world, 'member'), await wholeDocument(world)]) {
      const text = JSON.stringify(document)
      const unused = Object.entries<object>(document.components).flatMap(([kind, parts]) =>
        kind === 'securitySchemes'
          ? []
          : Object.keys(parts).filter((name) => !text.includes(`"#/components/${kind}/${name}"`)),
      )
      expect(unused).to.deep.equal([])
    }
  })

  it('grows with roles but for what a deny takes, and is a part of the whole', async () => {
    const whole = operationsOf(await wholeDocument(world))
    for (const role of ROLES) expect(whole).to.include.members([...operationsOf(await documentFor(world, role))])
    const both = operationsOf(await documentFor(world, 'admin', 'auditor'))
    expect(both).to.include('GET /api/orders').and.not.include('POST /api/orders')
  })

  it('agrees with the policy evaluated over every set of relations', async () => {
    const policy = parsePolicy(policyFiles(), world.resources)
    await fc.assert(
      fc.asyncProperty(fc.subarray(ROLES, { minLength: 1 }), async (roles) => {
        const { subjects } = columnOfRoles(policy, roles)
        const offered = routeMethodsOf(world.resources).filter((routeMethod) => {
          const { resource, action, route } = routeMethod
          // A redirect asks the role level, so for some object like the others.
          const alone = !concernsObject(routeMethod) && route.redirect === undefined
          const sets = alone ? [new Set<string>()] : relationSetsOf(policy, resource, action)
          const view =
            route.view === undefined || action.name === 'options'
              ? undefined
              : world.snapshot.viewOf(resource.name, route.view)
          return sets.some((relations) => {
            const { fields } = evaluate(policy, { subjects, resource, action, relations })
            return (view ? fields.intersection(view) : fields).size > 0
          })
        })
        const expected = offered
          .filter(({ route }) => route.path !== '*')
          .map((one) => `${one.method} ${one.route.path}`)
        expect(operationsOf(await documentFor(world, ...roles))).to.deep.equal(expected.toSorted())
      }),
      { numRuns: 15 },
    )
  })
})
