/** A directory of schema files becomes resources; what can't be read is told with the rest. */

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Diagnostic, FileError } from '../../src/base/diagnostic.ts'
import { loadResources, parseResources } from '../../src/resources/load/load-resources.ts'
import { parseSchemaFile } from '../../src/resources/schema/schema-file.ts'
import { removeFolder } from '../ends-with-tests.ts'

const SERVER_FIELDS = {
  id: { type: 'string', format: 'uuid', readOnly: true },
  createdAt: { type: 'string', format: 'date-time', readOnly: true },
  updatedAt: { type: 'string', format: 'date-time', readOnly: true },
}

function schema(routes: readonly object[], fields: object = {}): string {
  return JSON.stringify({
    type: 'object',
    'x-resource': { routes },
    properties: { ...SERVER_FIELDS, ...fields },
    additionalProperties: false,
  })
}

const BOATS = schema(
  [
    { path: '/boats', methods: ['GET', 'POST'] },
    { path: '/boats/{id}', methods: ['DELETE', 'GET'] },
    { path: '/boats/{id}/sink', methods: ['DELETE'], action: 'sink' },
  ],
  { name: { type: 'string', 'x-unique': true }, crew: { type: 'array', items: { type: 'string' }, default: ['cook'] } },
)

describe('a directory of schema files', () => {
  let directory: string
  const write = (name: string, content: string | Uint8Array) => writeFile(join(directory, name), content)
  const codes = async (where = directory): Promise<readonly string[]> => {
    try {
      await loadResources(where)
      return []
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      return error.diagnostics.map(({ file, code }) => `${file.replace(where, '')} ${code}`)
    }
  }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'schemas-'))
  })
  afterEach(() => removeFolder(directory))

  it('gives a new resource for a new file', async () => {
    await write('boats.json', BOATS)
    const { byName, routes } = await loadResources(directory)
    const boats = byName.get('boats')
    expect([...(boats?.fields.keys() ?? [])]).to.deep.equal(['id', 'createdAt', 'updatedAt', 'name', 'crew'])
    expect(boats?.fields.get('crew')).to.deep.include({ type: 'string', list: true, default: ['cook'] })
    expect(boats?.fields.get('name')).to.deep.include({ unique: true, indexed: false, readOnly: false })
    expect(boats?.canonicalItemPath).to.equal('/boats/{id}')
    expect(boats?.actions.get('sink')).to.deep.equal({ name: 'sink', hasFields: false })
    expect(routes.filter(({ resource }) => resource === 'boats').map(({ allow }) => allow)).to.deep.equal([
      'GET, HEAD, POST, OPTIONS',
      'GET, HEAD, DELETE, OPTIONS',
      'DELETE, OPTIONS',
    ])
  })

  it('takes only files that end in .json', async () => {
    await write('boats.json', BOATS)
    await write('README.md', '# not a schema')
    await write('boats.json~', 'half a file')
    expect(await codes()).to.deep.equal([])
  })

  it('is refused when it is empty or missing', async () => {
    expect(await codes()).to.deep.equal([' directory-empty'])
    expect(await codes(join(directory, 'missing'))).to.deep.equal([' directory-unreadable'])
  })

  it('tells files that are unreadable or not UTF-8 together with all other faults', async () => {
    await mkdir(join(directory, 'folder.json'))
    await write('latin.json', Uint8Array.of(0x22, 0xe9, 0x22))
    await write('marked.json', `\ufeff${BOATS}`)
    await write('typo.json', schema([{ path: '/typos', methods: ['FETCH'] }]))
    expect(await codes()).to.deep.equal([
      '/folder.json file-unreadable',
      '/latin.json file-encoding',
      '/marked.json json-syntax',
      '/typo.json route-method',
    ])
  })

  it('is refused with the place where its levels are too many, whatever they are made of', () => {
    const levels = (many: number, opens: string, closes: string) => `${opens.repeat(many)}1${closes.repeat(many)}`
    const nested = (many: number, opens: string, closes: string) =>
      BOATS.replace('"type":"object"', `"x": "[[{{",\n"examples": [${levels(many, opens, closes)}], $&`)
    for (const [opens, closes] of [
      ['[', ']'],
      ['{"a\\"[": ', '}'],
    ] as const) {
      for (const many of [199, 1000, 20_000]) {
        const text = nested(many, opens, closes)
        const [fault, ...more] = faultsOfText(text)
        expect(more).to.deep.equal([])
        expect(fault).to.include({
          code: 'json-depth',
          message: 'the file has more than 200 levels of lists and objects',
        })
        expect(text.split('\n')[(fault?.line ?? 0) - 1]?.slice((fault?.column ?? 0) - 1)).to.match(/^[[{]/)
      }
      expect(faultsOfText(nested(198, opens, closes)).map(({ code }) => code)).not.to.include('json-depth')
    }
  })
})

function faultsOfText(text: string): readonly Diagnostic[] {
  const parsed = parseSchemaFile({ name: 'boats.json', text })
  return parsed.kind === 'faulty' ? parsed.faults : []
}

describe('resources', () => {
  const resources = parseResources([{ name: 'boats.json', text: BOATS }])

  it('hold the built-in ones, whose routes are under the same policy', () => {
    const routes = resources.routes.filter(({ resource }) => resource === 'system/health')
    expect(routes.map(({ path, allow }) => [path, allow])).to.deep.equal([
      ['/livez', 'GET, HEAD, OPTIONS'],
      ['/readyz', 'GET, HEAD, OPTIONS'],
      ['*', 'OPTIONS'],
    ])
    const health = resources.byName.get('system/health')
    expect(health?.builtIn).to.equal(true)
    expect([...(health?.fields.values() ?? [])].map(({ name, type }) => [name, type])).to.deep.equal([
      ['status', 'string'],
      ['checks', 'other'],
    ])
    expect(health?.actions.get('read')?.hasFields).to.equal(true)
    expect(resources.byName.get('system/openapi')?.actions.get('read')?.hasFields).to.equal(false)
    expect(resources.byName.get('system/openapi')?.routes.map(({ path }) => path)).to.deep.equal(['/openapi.json'])
  })

  it('name the policy action of every endpoint among the actions of the resource', () => {
    for (const { resource, endpoints } of resources.routes) {
      const actions = resources.byName.get(resource)?.actions
      for (const { action } of endpoints.values()) expect(actions?.has(action), `${resource} ${action}`).to.equal(true)
    }
  })

  it('are frozen', () => {
    const boats = resources.byName.get('boats')
    const parts = [resources, resources.routes, boats, boats?.routes, ...resources.routes]
    const inner = [
      ...(boats?.fields.values() ?? []),
      boats?.fields.get('crew')?.default,
      ...(boats?.actions.values() ?? []),
    ]
    const endpoints = resources.routes.flatMap((route) => [...route.endpoints.values()])
    for (const part of [...parts, ...inner, ...endpoints]) expect(Object.isFrozen(part)).to.equal(true)
  })

  it('tell where a path moved, for good or for now', () => {
    const text = schema([
      { path: '/v1/boats/{id}', methods: ['GET'], moved: '/boats/{id}' },
      { path: '/ships', methods: ['GET', 'POST'], found: '/boats' },
      { path: '/boats/{id}', methods: ['GET'] },
      { path: '/boats', methods: ['GET', 'POST'] },
    ])
    const { byName } = parseResources([{ name: 'boats.json', text }])
    const boats = byName.get('boats')
    expect(boats?.routes.map(({ redirect }) => redirect)).to.deep.equal([
      { to: '/boats/{id}', permanent: true },
      { to: '/boats', permanent: false },
      undefined,
      undefined,
    ])
    expect(boats?.canonicalItemPath).to.equal('/boats/{id}')
    expect(boats?.routes[0]?.allow).to.equal('GET, HEAD, OPTIONS')
  })
})

describe('a key of a schema file with a typing error', () => {
  const sound = JSON.parse(schema([{ path: '/boats', methods: ['GET', 'POST'] }])) as Record<string, unknown>

  for (const [wrong, right] of [
    ['titel', undefined],
    ['propertes', 'properties'],
    ['additionalPropertys', 'additionalProperties'],
    ['x-resouce', 'x-resource'],
  ] as const) {
    it(`is one fault, with the key that is meant: ${wrong}`, () => {
      const { [right ?? '']: moved = 'Boats', ...rest } = sound
      const faults = faultsOf({ ...rest, [wrong]: moved })
      expect(faults).to.have.length(1)
      expect(faults[0]).to.include(`the keyword \`${wrong}\` is not supported; did you mean \`${right ?? 'title'}\`?`)
    })
  }

  it('is one fault within routes, too', () => {
    for (const [wrong, right, route] of [
      ['method', 'methods', { path: '/boats', method: ['GET'] }],
      ['veiw', 'view', { path: '/boats', methods: ['GET'], veiw: 'public' }],
    ] as const) {
      const faults = faultsOf({ ...sound, 'x-resource': { routes: [route] } })
      expect(faults).to.have.length(1)
      expect(faults[0]).to.include(`\`${wrong}\` is not accepted here; did you mean \`${right}\`?`)
    }
  })

  it('hides no other fault (negative control)', () => {
    const { properties: _, ...rest } = sound
    expect(faultsOf(rest).join()).to.include('[server-field]')
    expect(faultsOf({ ...rest, titel: 'Boats' }).join()).to.include('[server-field]')
  })
})

function faultsOf(json: object): readonly string[] {
  try {
    parseResources([{ name: 'boats.json', text: JSON.stringify(json) }])
    return []
  } catch (error) {
    if (error instanceof FileError) return error.message.split('\n')
    throw error
  }
}
