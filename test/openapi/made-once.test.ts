/** Documents are made once in the life of a policy for callers who have the same. */
import { expect } from 'chai'
import type { Resources } from '../../src/resources/resource.ts'
import { createDescribe } from '../../src/server/openapi/document.ts'
import { shipped } from './fixture.ts'

describe('the documents of a server', () => {
  const caller = (id: string, ...roles: readonly string[]) => ({ id, roles, claims: {} })

  it('are made once for callers with the same roles, and apart for others', async () => {
    const { snapshot, resources } = shipped()
    const counted = counting(resources)
    const describeCaller = createDescribe(counted.resources, 'folder')
    const first = await describeCaller(snapshot, caller('a', 'member'))
    const made = counted.count()
    expect(await describeCaller(snapshot, caller('b', 'member', 'nobody-declared-it'))).to.equal(first)
    expect(counted.count()).to.equal(made)
    expect(await describeCaller(snapshot, caller('a', 'support'))).to.not.equal(first)
    expect(counted.count()).to.be.greaterThan(made)
  })

  it('are another matter under another policy', async () => {
    const { snapshot, resources } = shipped()
    const describeCaller = createDescribe(resources, 'folder')
    const other = shipped({ 'policies/policy.csv': 'p, everyone, system/openapi, read, any, *, allow\n' })
    const narrow = await describeCaller(other.snapshot, caller('a', 'admin'))
    expect(Object.keys(JSON.parse(narrow).paths)).to.deep.equal(['/openapi.json'])
    expect(await describeCaller(snapshot, caller('a', 'admin'))).to.not.equal(narrow)
  })

  it('are forgotten when there are too many of them', async () => {
    const { snapshot, resources } = shipped(manyRoles(150))
    const describeCaller = createDescribe(resources, 'folder')
    const first = describeCaller(snapshot, caller('a', 'r0'))
    for (let i = 1; i < 150; i++) await describeCaller(snapshot, caller('a', `r${i}`))
    expect(describeCaller(snapshot, caller('a', 'r0'))).to.not.equal(first)
  })

  /** Whoever makes a document asks for the routes. */
  function counting(resources: Resources): { readonly resources: Resources; count(): number } {
    let asked = 0
    const watched = {
      byName: resources.byName,
      get routes() {
        asked++
        return resources.routes
      },
    }
    return { resources: watched, count: () => asked }
  }

  function manyRoles(count: number): Readonly<Record<string, string>> {
    const roles = Array.from({ length: count }, (_, i) => `r${i}:\n  description: One of many.\n`)
    return {
      'policies/roles.yaml': roles.join(''),
      'policies/policy.csv': 'p, everyone, system/openapi, read, any, *, allow\n',
      'policies/limits.yaml': 'body: 1kb\npage: { default: 5, max: 20 }\nlimits: {}\n',
    }
  }
})
