/**
 * Ten thousand rules are checked in about a second; the bounds here are so wide that only a fault could break them. It is the
 * processor's time that counts: how long a check waits for a busy machine says nothing about it.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { FindingReport } from '../../../src/present/findings.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { checkPolicy } from '../../../src/tools/check/check-policy.ts'
import { removeFolder } from '../../ends-with-tests.ts'

const BASE = fileURLToPath(new URL('base', import.meta.url))

const FIELDS = Array.from({ length: 20 }, (_, i) => `f${i}`)
const RESOURCES = numbered('r', 20)

describe('10,000 rules', () => {
  it('of 500 roles on 20 resources are checked in under 10 seconds', async () => {
    const roles = numbered('role', 500)
    const rules = roles.flatMap((role, i) =>
      RESOURCES.map((resource, j) => {
        const deny = (i + j) % 7 === 0
        const relation = ['any', 'owner', 'owner+draft', 'draft'][(i * 3 + j) % 4]
        return `p, ${role}, ${resource}, list|read|update, ${relation}, ${deny ? `v${j}` : '*'}, ${deny ? 'deny' : 'allow'}`
      }),
    )
    const links = roles.slice(1).map((role, i) => `g, ${role}, role${i % 10 === 0 ? 0 : Math.floor(i / 10)}`)
    await checkIn10Seconds({ roles, rules: [...rules, ...links] })
  })

  it('of one role on one resource, many of them redundant, are checked in under 10 seconds', async () => {
    const pairs = FIELDS.flatMap((_, i) => FIELDS.slice(i + 1).map((_, j) => `v${i}|v${i + 1 + j}`))
    const relations = ['any', 'owner', 'draft', 'owner+draft', 'late', 'owner+late', 'draft+late', 'owner+draft+late']
    const rules = ['allow', 'deny'].flatMap((effect) =>
      ['list', 'read', 'create', 'replace', 'update', 'list|read', 'read|update'].flatMap((action) =>
        relations.flatMap((relation) =>
          pairs.map((views) => `p, role0, r0, ${action}, ${relation}, ${views}, ${effect}`),
        ),
      ),
    )
    const report = await checkIn10Seconds({ roles: ['role0'], rules: rules.slice(0, 10_000) })
    expect(report.warnings).to.be.greaterThan(5000)
  })

  it('about everything, for as many users, are checked in under 10 seconds', async () => {
    const rules = numbered('user:u', 5000).flatMap((user) => [
      `p, ${user}, *, *, owner, *, allow`,
      `p, ${user}, *, read, any, *, deny`,
    ])
    await checkIn10Seconds({ roles: ['role0'], rules })
  })
})

interface Generated {
  readonly roles: readonly string[]
  readonly rules: readonly string[]
}

async function checkIn10Seconds(generated: Generated): Promise<FindingReport> {
  const directory = await mkdtemp(join(tmpdir(), 'sallyport-scale-'))
  try {
    await lay(directory, generated)
    const resources = await loadResources(join(directory, 'schemas'))
    const before = process.threadCpuUsage()
    const report = await checkPolicy({ policies: directory, resources, users: undefined, now: new Date() })
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).to.be.lessThan(10_000)
    expect(report.findings.filter(({ severity }) => severity === 'error')).to.deep.equal([])
    return report
  } finally {
    await removeFolder(directory)
  }
}

async function lay(directory: string, { roles, rules }: Generated): Promise<void> {
  await cp(BASE, directory, { recursive: true })
  await rm(join(directory, 'schemas/docs.json'))
  await rm(join(directory, 'schemas/jobs.json'))
  const relations = '{ owner: owner, draft: { field: state, in: [draft] }, late: { field: state, in: [late] } }'
  const views = `{ ${FIELDS.map((field, i) => `v${i}: [${field}]`).join(', ')} }`
  const files = {
    'policy.csv': rules.join('\n'),
    'roles.yaml': roles.map((role) => `${role}: { description: A role. }`).join('\n'),
    'ownership.yaml': RESOURCES.map((name) => `${name}: { relations: ${relations} }`).join('\n'),
    'views.yaml': RESOURCES.map((name) => `${name}: ${views}`).join('\n'),
    ...Object.fromEntries(RESOURCES.map((name) => [`schemas/${name}.json`, JSON.stringify(schemaOf(name))])),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
}

function schemaOf(name: string): unknown {
  const text = { type: 'string' }
  const server = { type: 'string', readOnly: true }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
      ],
    },
    properties: {
      id: server,
      createdAt: { ...server, format: 'date-time' },
      updatedAt: { ...server, format: 'date-time' },
      owner: text,
      state: text,
      ...Object.fromEntries(FIELDS.map((field) => [field, text])),
    },
    additionalProperties: false,
  }
}

function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}${i}`)
}
