/** `schema diff` says what a change means for clients, stored data and policies. */
import { execFileSync } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import shape from '../../docs/schemas/schema-diff.schema.json' with { type: 'json' }
import { FileError } from '../../src/base/diagnostic.ts'
import { CHANGE_CODES } from '../../src/tools/schema/diff/formats.ts'
import { sectionOf } from '../documented.ts'
import { removeFolder, removeWithTests } from '../ends-with-tests.ts'
import { sarifFaults } from '../sarif.ts'
import { schemaCommandRun } from './command.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** The shipped files without commands, so that a case may change whatever commands need. */
const SHIPPED = removeWithTests(await mkdtemp(join(tmpdir(), 'sallyport-schemas-')))
const [SCHEMAS, POLICIES] = [join(SHIPPED, 'schemas'), join(SHIPPED, 'policies')]
await cp(join(ROOT, 'schemas'), SCHEMAS, { recursive: true, filter: (path) => !path.endsWith('/commands') })
await cp(join(ROOT, 'policies'), POLICIES, { recursive: true })
const RULES = join(POLICIES, 'policy.csv')
await writeFile(RULES, (await readFile(RULES, 'utf8')).replaceAll(/^p, \w+, +orders, +(?:place|ship|cancel).*\n/gm, ''))

const diffRun = (...args: readonly string[]) => schemaCommandRun('diff', '--policies', POLICIES, ...args)

const PAGE = join(ROOT, 'docs/changing-schemas.md')

// biome-ignore lint/suspicious/noExplicitAny: schemas as the cases edit them
type Schema = any
type Edit = (orders: Schema) => void

interface Told {
  readonly code: string
  readonly effect: string
  readonly concern: string
  readonly pointer: string
  readonly sentence: string
  readonly file: string
}

/** An edit of orders.json, and `effect code pointer` of every change that it is. */
const CASES: readonly (readonly [string, Edit, readonly string[]])[] = [
  ['nothing', () => undefined, []],
  [
    'a removed field',
    ({ properties }) => {
      delete properties.note
    },
    ['breaking data-removed /note', 'breaking field-removed /note'],
  ],
  [
    'a new field',
    ({ properties }) => {
      properties.colour = { type: 'string', maxLength: 9 }
    },
    ['compatible field-added /colour'],
  ],
  [
    'a newly required field',
    ({ required }) => required.push('note'),
    ['breaking data-required /note', 'breaking send-required /note'],
  ],
  [
    'a newly required field with a default',
    ({ required, properties }) => {
      required.push('note')
      properties.note.default = ''
    },
    ['breaking data-required /note', 'compatible default-changed /note'],
  ],
  [
    'a field that is no longer required',
    ({ required }) => required.splice(required.indexOf('currency'), 1),
    ['breaking read-optional /currency'],
  ],
  [
    'an enum with another value',
    ({ properties }) => properties.status.enum.push('lost'),
    ['breaking read-widened /status'],
  ],
  [
    'an enum that loses a value',
    ({ properties }) => properties.note && Object.assign(properties.note, { enum: ['a', 'b'] }),
    ['breaking data-misfit /note', 'breaking send-narrowed /note'],
  ],
  [
    'a smaller bound inside a list',
    ({ $defs }) => {
      $defs.item.properties.quantity.maximum = 10
    },
    ['breaking data-misfit /items/*/quantity', 'breaking send-narrowed /items/*/quantity'],
  ],
  [
    'a larger bound',
    ({ properties }) => {
      properties.note.maxLength = 3000
    },
    ['breaking read-widened /note'],
  ],
  [
    'a member that is gone',
    ({ $defs }) => {
      delete $defs.item.properties.sku
      $defs.item.required = ['quantity', 'unitPrice']
    },
    ['breaking data-removed /items/*/sku', 'breaking read-optional /items/*/sku', 'breaking send-refused /items/*/sku'],
  ],
  [
    'another pattern',
    ({ properties }) => {
      properties.currency.pattern = '^[A-Z]{1,3}$'
    },
    ['breaking read-widened /currency', 'unknown data-misfit /currency', 'unknown send-narrowed /currency'],
  ],
  [
    'a field that clients no longer set',
    ({ properties }) => {
      properties.note.readOnly = true
    },
    ['breaking field-read-only /note'],
  ],
  [
    'a reference, and fields that are unique together',
    (schema) => {
      schema.properties.customerId['x-reference'] = { resource: 'users' }
      schema['x-unique'] = [['customerId', 'note']]
    },
    [
      'breaking data-reference /customerId',
      'breaking data-unique /customerId',
      'breaking reference-added /customerId',
      'breaking unique-added /customerId',
    ],
  ],
  [
    'no filter any more, and a unique field',
    ({ properties }) => {
      delete properties.currency['x-index']
      properties.note['x-unique'] = true
    },
    ['breaking data-unique /note', 'breaking filter-removed /currency', 'breaking unique-added /note'],
  ],
  [
    'a filter more',
    ({ properties }) => {
      properties.note['x-index'] = true
    },
    ['compatible filter-added /note'],
  ],
  [
    'a collection under its parent',
    ({ properties, 'x-resource': { routes } }) => {
      properties.customerId['x-reference'] = { resource: 'users' }
      routes.push({ path: '/api/users/{customerId}/orders', methods: ['GET'] })
    },
    ['breaking data-reference /customerId', 'breaking reference-added /customerId', 'compatible route-added '],
  ],
  [
    'other paths',
    ({ 'x-resource': { routes } }) => {
      routes[0].path = '/api/v2/orders'
      routes[1].precondition = 'required'
    },
    ['breaking matrix-outdated ', 'breaking precondition-added ', 'breaking route-removed ', 'compatible route-added '],
  ],
  [
    'a method that is gone',
    ({ 'x-resource': { routes } }) => {
      routes[1].methods = ['GET', 'PUT', 'PATCH']
    },
    ['breaking matrix-outdated ', 'breaking method-removed ', 'breaking policy-warning '],
  ],
  [
    'a redirect, a sunset and another view',
    ({ 'x-resource': { routes } }) => {
      routes[1].sunset = '2030-01-01'
      routes.push({ path: '/api/orders/{id}/short', methods: ['GET'], view: 'summary' })
      routes.push({ path: '/orders', methods: ['GET'], moved: '/api/orders' })
    },
    ['breaking policy-error ', 'compatible route-added ', 'compatible route-added ', 'compatible route-retired '],
  ],
]

describe('sallyport schema diff', () => {
  let folder: string
  const orders = () => join(folder, 'orders.json')

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-schemas-'))
    await cp(SCHEMAS, folder, { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  async function edit(change: Edit): Promise<void> {
    const json = JSON.parse(await readFile(orders(), 'utf8'))
    change(json)
    await writeFile(orders(), JSON.stringify(json, null, 2))
  }

  const diff = (...args: readonly string[]) => diffRun(SCHEMAS, folder, ...args)

  async function changes(): Promise<readonly Told[]> {
    const { stdout, error } = await diff('--format', 'json')
    if (error) throw error
    const report = JSON.parse(stdout)
    const validate = new Ajv2020().compile(shape)
    expect(validate(report), JSON.stringify(validate.errors)).to.equal(true)
    expect(validate({ ...report, counts: {} }), 'a wrong shape').to.equal(false)
    return report.changes
  }

  for (const [title, change, expected] of CASES) {
    it(`tells of ${title}`, async () => {
      await edit(change)
      const told = (await changes()).map(({ effect, code, pointer }) => `${effect} ${code} ${pointer}`)
      // A matrix has several rows about a path.
      expect([...new Set(told)].toSorted()).to.deep.equal([...new Set(expected)].toSorted())
    })
  }

  it('has a case for every code', async () => {
    const found = new Set(CASES.flatMap(([, , expected]) => expected.map((one) => one.split(' ')[1])))
    await edit(({ properties, 'x-resource': { routes } }) => {
      const [list, item] = routes
      list.methods = ['GET']
      list.action = 'survey'
      Object.assign(item, {
        path: '/api/orders/{id}',
        methods: ['GET', 'PATCH'],
        precondition: 'required',
        view: 'new',
      })
      routes.push({ path: '/drafts', methods: ['GET'], moved: '/api/orders' })
      properties.note['x-unique'] = true
      properties.currency.readOnly = true
    })
    const there = JSON.parse((await diff('--format', 'json')).stdout)
    const back = JSON.parse((await diffRun(folder, SCHEMAS, '--format', 'json')).stdout)
    await edit(({ 'x-resource': { routes } }) => {
      routes.pop()
      routes[0] = { path: '/api/orders', methods: ['GET'], found: '/api/notes' }
    })
    const moved = JSON.parse((await diff('--format', 'json')).stdout)
    await edit(({ properties }) => {
      properties.note['x-reference'] = { resource: 'users', onDelete: 'null' }
    })
    const other = await mkdtemp(join(tmpdir(), 'sallyport-schemas-'))
    await cp(folder, other, { recursive: true })
    await edit(({ properties }) => {
      properties.note['x-reference'].onDelete = 'restrict'
    })
    const restricted = JSON.parse((await diffRun(other, folder, '--format', 'json')).stdout)
    await edit(({ properties }) => {
      delete properties.note['x-reference']
    })
    const freed = JSON.parse((await diffRun(other, folder, '--format', 'json')).stdout)
    await removeFolder(other)
    for (const { changes: told } of [there, back, moved, restricted, freed])
      for (const { code } of told) found.add(code)
    await rm(orders())
    for (const { code } of await changes()) found.add(code)
    expect(CHANGE_CODES.map(({ code }) => code).filter((code) => !found.has(code))).to.deep.equal([
      'resource-added',
      // Told in tests of their own.
      'command-changed',
      'history-changed',
      'events-changed',
    ])
  })

  it('tells of a history that is new, kept for another time, or gone', async () => {
    const keeping = (keep: string) =>
      edit((schema) => {
        Object.assign(schema, { 'x-history': { keep } })
      })
    await keeping('2y')
    const { stdout } = await diff()
    expect(stdout).to.include('+ orders: the path /api/orders/{id}/history is new [route-added]')
    expect(stdout).to.match(/^\S+ -> \S+: 0 breaking changes for clients, 0 for stored data/)
    const before = await mkdtemp(join(tmpdir(), 'sallyport-schemas-'))
    await cp(folder, before, { recursive: true })
    await keeping('30d')
    const told = async (old: string, next: string) => (await diffRun(old, next)).stdout
    const kept = 'orders: versions at /api/orders/{id}/history are kept for'
    expect(await told(before, folder)).to.include(`! ${kept} 2y -> 30d [history-changed]`)
    expect(await told(folder, before)).to.include(`+ ${kept} 30d -> 2y [history-changed]`)
    expect(await told(folder, SCHEMAS)).to.include(
      '! orders: the path /api/orders/{id}/history is gone [route-removed]',
    )
    await removeFolder(before)
  })

  it('tells of a stream of events that is new, kept for another time, or gone', async () => {
    const streaming = (route: object) =>
      edit((schema) => {
        const routes = schema['x-resource'].routes.filter(({ path }: { path: string }) => path !== '/api/order-events')
        schema['x-resource'].routes = [...routes, { path: '/api/order-events', methods: ['GET'], ...route }]
      })
    await streaming({ events: { keep: '3d' } })
    expect((await diff()).stdout).to.include('+ orders: the path /api/order-events is new [route-added]')
    const before = await mkdtemp(join(tmpdir(), 'sallyport-schemas-'))
    await cp(folder, before, { recursive: true })
    await streaming({ events: {} })
    const told = async (old: string, next: string) => (await schemaCommandRun('diff', old, next)).stdout
    expect(await told(before, folder)).to.include(
      '! orders: events at /api/order-events are kept for 3d -> 1d [events-changed]',
    )
    expect(await told(folder, before)).to.include(
      '+ orders: events at /api/order-events are kept for 1d -> 3d [events-changed]',
    )
    expect(await told(folder, SCHEMAS)).to.include('! orders: the path /api/order-events is gone [route-removed]')
    await streaming({})
    const list = '/api/order-events is no longer a stream of events [events-changed]'
    expect(await told(before, folder)).to.include(`! orders: ${list}`)
    await removeFolder(before)
  })

  it('names a removed resource for clients, data and policies', async () => {
    await rm(orders())
    const told = await changes()
    expect(told.map(({ concern, code }) => `${concern} ${code}`)).to.include.members([
      'clients resource-removed',
      'data data-unreachable',
      'policies policy-error',
      'policies matrix-outdated',
    ])
    expect(told.find(({ code }) => code === 'resource-removed')?.file).to.equal(join(SCHEMAS, 'orders.json'))
    const { stdout } = await diffRun(folder, SCHEMAS)
    expect(stdout).to.include('+ orders: the resource is new [resource-added]')
  })

  it('takes a resource that is kept elsewhere as one without stored objects and paths of the server', async () => {
    const tools = join(folder, 'tools.json')
    const schema = {
      type: 'object',
      'x-resource': { external: true },
      properties: { id: { type: 'string', readOnly: true }, team: { type: 'string' } },
      additionalProperties: false,
    }
    await writeFile(tools, JSON.stringify(schema))
    expect((await changes()).map(({ concern, code }) => `${concern} ${code}`)).to.deep.equal(['clients resource-added'])
    const file = JSON.parse(await readFile(orders(), 'utf8'))
    const elsewhere = { ...schema, properties: { ...schema.properties, customerId: { type: 'string' } } }
    await writeFile(orders(), JSON.stringify(elsewhere))
    const moved = (await changes()).map(({ concern, code }) => `${concern} ${code}`)
    expect(moved).to.include.members(['clients resource-removed', 'data data-unreachable'])
    const back = await diffRun(folder, SCHEMAS, '--format', 'json')
    const codes = JSON.parse(back.stdout).changes.map(({ concern, code }: Told) => `${concern} ${code}`)
    expect(codes).to.include('clients resource-added').and.not.include('data data-removed')
    await rm(tools)
    await writeFile(orders(), JSON.stringify(file))
  })

  it('shows sentences with values and places, and the resources that always fit', async () => {
    await edit(({ properties }) => {
      properties.status.enum = ['draft', 'placed', 'lost']
    })
    const { stdout, code } = await diff()
    expect(code).to.equal(0)
    expect(stdout).to.include('orders: clients may send shipped or cancelled as /status, which is no longer accepted')
    expect(stdout).to.include('orders: answers may have lost as /status, which clients could not meet before')
    expect(stdout).to.include('stored objects may have shipped or cancelled as /status, which no longer fits')
    expect(stdout).to.include('stored objects always fit: accounts, notes, users\n')
    expect(stdout).to.match(/orders\.json:\d+:\d+\n/)
    expect(stdout).to.match(/policies\/ownership\.yaml:\d+:\d+\n/)
  })

  it('exits with 1 for a change that --fail-on names, repeated or with commas', async () => {
    await edit(CASES[5]?.[1] ?? (() => undefined))
    const code = async (...args: readonly string[]) => (await diff(...args)).code
    expect(await code()).to.equal(0)
    expect(await code('--fail-on', 'data,policy')).to.equal(0)
    expect(await code('--fail-on', 'data', '--fail-on', 'breaking')).to.equal(1)
    expect(await code('--fail-on', 'data,breaking')).to.equal(1)
    const wrong = await diff('--fail-on', 'date')
    expect([wrong.code, wrong.error?.message]).to.deep.equal([
      2,
      "error: option '--fail-on <what>' argument 'date' is invalid. Allowed choices are breaking, data, policy.",
    ])
  })

  it('counts what is unknown as breaking', async () => {
    await edit(({ properties }) => {
      properties.currency.pattern = '^[A-Z]{1,3}$'
    })
    expect((await diff('--fail-on', 'data')).code).to.equal(1)
    expect((await diff()).stdout).to.include('unknown, run sallyport data check: orders\n')
  })

  it('prints Markdown in which names stay names, and SARIF of the promised shape', async () => {
    await edit(({ properties }) => {
      properties.status.enum.push('[x](http://evil.example)|<b>')
    })
    const markdown = (await diff('--format', 'markdown')).stdout
    expect(markdown).to.include('| Clients | **breaking** |').and.not.include('http://').and.not.include('<b>')
    const sarif = JSON.parse((await diff('--format', 'sarif')).stdout)
    expect(sarifFaults(sarif)).to.deep.equal([])
    expect(sarif.runs[0].results[0]).to.deep.include({ ruleId: 'read-widened', level: 'error' })
  })

  it('refuses schemas with faults, and what is no directory and no commit, with one error', async () => {
    await writeFile(orders(), '{')
    const faulty = await diff()
    expect([faulty.code, faulty.stdout, faulty.error instanceof FileError]).to.deep.equal([2, '', true])
    const unknown = await diffRun('no-such-branch', SCHEMAS)
    expect(unknown.error?.message).to.match(
      /^`no-such-branch` is neither a directory nor a commit of the git repository/,
    )
    const nowhere = await diffRun(SCHEMAS, SCHEMAS, '--policies', join(folder, 'nowhere'))
    expect(nowhere.error?.message).to.include('is not a directory: name a directory of policy files')
  })

  it('tells a command that is new, has other steps, or is gone, also of git revisions', async () => {
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
        cwd: folder,
        stdio: 'pipe',
      })
    const write = (more: object) =>
      writeFile(
        join(folder, 'commands/place.json'),
        JSON.stringify({
          resource: 'orders',
          path: '/api/orders/{id}/placement',
          action: 'settle',
          set: { status: { value: 'placed' } },
          ...more,
        }),
      )
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-qm', 'as shipped')
    const compare = async () => (await diffRun('HEAD', folder, '--schemas', folder)).stdout
    await mkdir(join(folder, 'commands'), { recursive: true })
    await write({})
    expect(await compare()).to.include('orders: the path /api/orders/{id}/placement is new [route-added]')
    git('add', '.')
    git('commit', '-qm', 'with a command')
    expect(await compare()).not.to.include('placement')
    await write({ grants: 'steps' })
    expect(await compare()).to.include(
      '? orders: the command at /api/orders/{id}/placement does something else [command-changed]',
    )
    await rm(join(folder, 'commands/place.json'))
    expect(await compare()).to.include('! orders: the path /api/orders/{id}/placement is gone [route-removed]')
  })

  it('compares git revisions', async () => {
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
        cwd: folder,
        stdio: 'pipe',
      })
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-qm', 'as shipped')
    await edit(({ properties }) => {
      delete properties.note
    })
    const { stdout } = await diffRun('main', folder, '--schemas', folder)
    expect(stdout).to.include('orders: the field note is gone [field-removed]')
    git('commit', '-qam', 'without the note')
    const both = await diffRun('HEAD~1', 'HEAD', '--schemas', folder)
    expect(both.error?.message).to.equal(undefined)
    expect(both.stdout).to.include('orders: the field note is gone [field-removed]\n      HEAD:orders.json:')
    await writeFile(orders(), '{')
    git('commit', '-qam', 'broken')
    const broken = await diffRun('HEAD~1', 'HEAD', '--schemas', folder)
    expect(broken.error?.message).to.match(/^HEAD:orders\.json:1:2: /)
  })

  it('has every code on the page, with what to do', async () => {
    const codes = sectionOf(await readFile(PAGE, 'utf8'), 'Codes')
    const rows = [...codes.matchAll(/^\| `([a-z-]+)` \| (.*) \| (.*) \|$/gm)].map((row) => row.slice(1))
    expect(rows).to.deep.equal(CHANGE_CODES.map(({ code, meaning, fix }) => [code, meaning, fix]))
  })
})
