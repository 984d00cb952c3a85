/** Wherever a name of the policy may stand, an editor offers the names that may stand there, and no other. */
import { join } from 'node:path'
import { expect } from 'chai'
import { type CompletionItem, CompletionRequest, type TextEdit } from 'vscode-languageserver/node'
import { ROOT } from '../command.ts'
import { cursorIn, TestEditor } from './editor.ts'

const ROLES = ['member', 'support', 'auditor', 'admin', 'pdp-client']
const CALLERS = ['everyone', 'anonymous']
const ORDERS = ['list', 'read', 'create', 'replace', 'update', 'delete', 'options']
const OF_ORDERS = ['owner', 'draft', 'placed', 'shipped', 'cancelled', 'open']

/** `¦` is the cursor; an item is a whole file if it has more than one line. */
const PLACES: readonly (readonly [file: string, text: string, offered: readonly string[]])[] = [
  ['policies/policy.csv', '¦', ['p', 'g']],
  ['policies/policy.csv', 'p, ¦', [...ROLES, ...CALLERS, 'user:']],
  ['policies/policy.csv', 'g, support, me¦', ROLES],
  [
    'policies/policy.csv',
    'p, member, ord¦, read, any, *, allow',
    ['notes', 'orders', 'users', 'accounts', '*', 'system/*'],
  ],
  ['policies/policy.csv', 'p, member, orders, list|¦', [...ORDERS, '*']],
  ['policies/policy.csv', 'p, member, orders, update, owner+!dr¦>placed, *, allow', [...OF_ORDERS, 'any']],
  ['policies/policy.csv', 'p, member, orders, update, owner>¦', [...OF_ORDERS, 'any']],
  ['policies/policy.csv', 'p, member, users, read, any, public|¦, allow', ['public', 'contact', 'personal', '*']],
  ['policies/policy.csv', 'p, member, users, read, any, *, ¦', ['allow', 'deny']],
  ['policies/policy.csv', '# p, ¦', []],
  ['policies/limits.yaml', 'limits:\n  a: { per: address, match: { role: ¦ } }\n', [...ROLES, ...CALLERS]],
  ['policies/limits.yaml', 'limits:\n  a:\n    match:\n      resource: orders\n      action: ¦\n', ORDERS],
  ['policies/views.yaml', 'orders:\n  progress: [id, ¦]\n', ['id', 'customerId', 'status']],
  ['policies/views.yaml', 'orders:\n  pro¦: [id]\n', []],
  [
    'policies/guarantees.yaml',
    '- name: x\n  never: { subjects: { except: [¦] }, resource: orders }\n',
    [...ROLES, ...CALLERS],
  ],
  ['policies/guarantees.yaml', '- name: x\n  never: { resource: orders, unless: owner+¦ }\n', [...OF_ORDERS, 'any']],
  ['policies/guarantees.yaml', '- name: x\n  roles-apart: [admin, ¦]\n', ROLES],
  ['policies/ownership.yaml', 'orders:\n  relations:\n    owner: ¦\n', ['customerId', 'status']],
  ['schemas/accounts.json', '{ "x-resource": { "routes": [{ "path": "/a", "view": "¦" }] } }', ['balance']],
  ['test/matrix/orders.csv', 'method,path,object,member,mem¦\n', [...ROLES, ...CALLERS]],
  [
    'test/matrix/orders.csv',
    'method,path,object,member\nGET,/api/orders/{id},owner+¦,200\n',
    [...OF_ORDERS, 'other', 'missing'],
  ],
  [
    'test/matrix/orders.csv',
    'method,path,object,member\nGET,/users/{id},own,200 ¦\n',
    ['public', 'contact', 'personal'],
  ],
  [
    'test/matrix/orders.csv',
    'method,path,object,member\nGET,/api/orders,none,200 [own+¦]\n',
    [...OF_ORDERS, 'own', 'all', 'none'],
  ],
  [
    'test/matrix/orders.csv',
    'method,path,object,event,member\nGET,/api/orders,none,¦,200\n',
    ['created', 'changed', 'deleted'],
  ],
  [
    'test/matrix/orders.csv',
    'method,path,object,event,becomes,member\nGET,/users,none,created,own,200 ¦\n',
    ['appeared', 'changed', 'gone', 'reset', 'nothing'],
  ],
  [
    'test/matrix/orders.csv',
    'method,path,object,event,becomes,member\nGET,/users,none,created,own,200 appeared ¦\n',
    ['public', 'contact', 'personal'],
  ],
]

describe('completion', () => {
  let editor: TestEditor
  before(async () => {
    editor = await TestEditor.open()
  })
  after(async () => {
    await editor.end()
  })

  for (const [file, marked, offered] of PLACES) {
    it(`offers what may stand there: ${file} with ${JSON.stringify(marked)}`, async () => {
      const labels = (await complete(editor, file, marked)).map(({ label }) => label)
      expect(labels).to.include.members([...offered])
      if (offered.length === 0) expect(labels).to.deep.equal([])
      const others = [
        'notAName',
        ...(offered.includes('allow') ? ROLES : ['allow']),
        ...(offered.includes('draft') ? [] : ['draft']),
      ]
      expect(labels.filter((label) => others.includes(label))).to.deep.equal([])
    })
  }

  it('replaces the name at the cursor alone, and says what each name means', async () => {
    const items = await complete(
      editor,
      'policies/policy.csv',
      'p, member, orders, update, owner+dra¦ft>placed, *, allow',
    )
    const [draft] = items.filter(({ label }) => label === 'draft')
    expect(draft?.detail).to.include('status')
    const { range, newText } = (draft as CompletionItem).textEdit as TextEdit
    expect([range.start.character, range.end.character, newText]).to.deep.equal([33, 38, 'draft'])
  })

  it('still knows the names of a file that is broken for the moment', async () => {
    await editor.type('policies/roles.yaml', `${await editor.read('policies/roles.yaml')}support: [\n`)
    const labels = (await complete(editor, 'policies/policy.csv', 'p, ¦')).map(({ label }) => label)
    expect(labels).to.include.members(ROLES)
    await editor.close('policies/roles.yaml')
  })

  it('offers conditions, and relations of related objects', async () => {
    const projects = await TestEditor.open(join(ROOT, 'examples/projects'), 'matrices')
    const offered = async (file: string, text: string) =>
      (await complete(projects, file, text)).map(({ label }) => label)
    const rule = await offered('policies/policy.csv', 'p, member, tasks, update, off¦, *, allow')
    expect(rule).to.include.members(['office', 'fresh', 'mine', 'team'])
    const far = 'tasks:\n  relations:\n    lead: { through: projectId, to: projects, relation: ¦ }\n'
    const related = await offered('policies/ownership.yaml', far)
    expect(related).to.include.members(['lead', 'editor']).and.not.include('mine')
    await projects.end()
  })

  it('of a question that makes no sense is an error, and the next one is answered', async () => {
    const broken = await editor.connection.sendRequest('textDocument/completion', { position: 7 }).catch(asError)
    expect(broken).to.be.instanceOf(Error)
    expect((await complete(editor, 'policies/policy.csv', 'p, ¦')).length).to.be.greaterThan(0)
  })

  it('has no answer outside of a project', async () => {
    expect(await complete(editor, 'elsewhere/policy.csv', 'p, ¦')).to.deep.equal([])
  })
})

async function complete(editor: TestEditor, file: string, marked: string): Promise<readonly CompletionItem[]> {
  const { text, position } = cursorIn(marked)
  await editor.type(file, text)
  const textDocument = { uri: editor.uri(file) }
  const found = await editor.connection.sendRequest(CompletionRequest.type, { textDocument, position })
  await editor.close(file)
  return Array.isArray(found) ? found : (found?.items ?? [])
}

function asError(error: Error): Error {
  return error
}
