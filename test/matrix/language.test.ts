import { expect } from 'chai'
import { stringify } from 'yaml'
import { measureCoverage, percentOf } from '../../src/tools/matrix/coverage/coverage.ts'
import { storeNew } from '../../src/tools/matrix/init/write-matrix.ts'
import { MUTATE_FORMATS } from '../../src/tools/matrix/mutate/formats.ts'
import { mutate, scoreOf } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { OPERATORS } from '../../src/tools/matrix/mutate/operators.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { parseMatrix } from '../../src/tools/matrix/read/matrix-file.ts'
import { rulesOfRun, trialFacts } from '../../src/tools/matrix/target/request-facts.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { closureOf } from './predict/kinds.ts'
import { suiteOfFiles, writtenFor } from './predict/suites.ts'

const RELATIONS = { ...closureOf('things', ['owner', 'draft', 'shipped', 'inBox', 'led']), users: { owner: 'id' } }

const FILES = {
  'roles.yaml': 'clerk: { description: c }\nagent: { description: a }\n',
  'ownership.yaml': ownershipText(RELATIONS),
  'conditions.yaml': 'office: { network: [192.0.2.0/24] }\nfresh: { signedIn: { within: 15m } }\n',
  'views.yaml': 'things: { progress: [status] }\n',
  'policy.csv': `p, clerk, things, read|create, inBox, *, allow
p, clerk, things, update, owner+draft>draft, *, allow
p, agent, things, update, inBox+draft>shipped, progress, allow
p, agent, things, read, any, *, allow
p, clerk, things, delete, led+fresh, *, allow
p, everyone, things, delete, !office, *, deny
`,
}

function ownershipText(byResource: Readonly<Record<string, object>>): string {
  const declared = Object.entries(byResource).filter(([, relations]) => Object.keys(relations).length > 0)
  return stringify(Object.fromEntries(declared.map(([name, relations]) => [name, { relations }])))
}

/** The answers in the matrix of things, by row and column. */
function answersIn(texts: Awaited<ReturnType<typeof writtenFor>>): ReadonlyMap<string, string> {
  const text = texts.find(({ name }) => name === 'things.csv')?.text ?? ''
  const [head = [], ...rows] = text.split('\n').map((line) => line.split(','))
  const at = (row: readonly string[], name: string) => row[head.indexOf(name)] ?? ''
  const before = ['method', 'object', 'when', 'becomes']
  return new Map(
    rows
      .filter((row) => at(row, 'body') === '')
      .flatMap((row) =>
        head.slice(head.indexOf('anonymous')).map((column) => {
          const about = before.map((name) => at(row, name) || '-')
          return [[...about, column].join(' '), at(row, column)] as const
        }),
      ),
  )
}

describe('the matrix of a policy with members, transitions and conditions', () => {
  let folder: string
  let matrix: string
  let suite: () => Promise<PredictedSuite>

  before(async () => {
    ;({ folder, matrix, suite } = await suiteOfFiles(FILES))
  })

  after(() => removeFolder(folder))

  it('has a row for each way to be a member, and each set of conditions', async () => {
    const answers = answersIn(await writtenFor(await suite()))
    expect(answers.get('GET|HEAD inBox - - clerk')).to.equal('200')
    expect(answers.get('GET|HEAD other - - clerk')).to.equal('403')
  })

  it('asks for a new sign-in where it would help, and knows the address', async () => {
    const answers = answersIn(await writtenFor(await suite()))
    expect(answers.get('DELETE led fresh+office - clerk')).to.equal('204')
    expect(answers.get('DELETE led office - clerk')).to.equal('401')
    expect(answers.get('DELETE led fresh - clerk')).to.equal('403')
    expect(answers.get('DELETE other fresh+office - clerk')).to.equal('403')
    // Without credentials nobody has signed in.
    expect(answers.get('DELETE other fresh+office - anonymous')).to.equal('-')
    expect(answers.get('DELETE other office - anonymous')).to.equal('401')
  })

  it('says why a caller without credentials meets no sign-in', async () => {
    const text = 'method,path,object,when,anonymous\nDELETE,/things/{id},other,fresh,401'
    const [cell] = parseMatrix({ name: 'm.csv', text }, ({ message }) => expect.fail(message))
    const rules = rulesOfRun(await suite())
    if (!cell) throw new Error('no cell')
    const why = 'a caller without credentials has no sign-in, which `fresh` needs: write `-`'
    expect(() => trialFacts(rules, cell, Date.now())).to.throw(why)
  })

  it('is complete, and no mistake that changes a decision counts as none', async () => {
    await storeNew(matrix, await writtenFor(await suite()))
    const whole = await suite()
    const { cells, unasked } = await measureCoverage(whole)
    expect(percentOf(cells)).to.equal(100)
    expect(unasked).to.deep.equal([])
    const { judged, unmet } = await mutate(whole, { only: undefined, observe: () => undefined })
    expect(unmet).to.equal(0)
    const made = new Set(judged.map(({ mutant }) => mutant.operator))
    for (const operator of ['flip-term', 'drop-result', 'change-condition', 'change-relation'] as const) {
      expect(made).to.include(operator)
    }
    const inRules = judged.filter(({ mutant }) => mutant.file === 'policy.csv')
    const terms = inRules.filter(({ mutant }) =>
      ['flip-term', 'drop-result', 'drop-relation'].includes(mutant.operator),
    )
    expect(terms.length).to.be.greaterThan(10)
    expect(
      terms.filter(({ verdict }) => verdict.kind === 'equivalent').map(({ mutant }) => mutant.change),
    ).to.deep.equal([])
    // Another meaning of the parent's relation, or of a condition, is shown by what tells both meanings apart.
    const equivalent = judged.filter(({ verdict }) => verdict.kind === 'equivalent')
    const vague = equivalent.filter(({ mutant }) => /^(add-field|change-)/.test(mutant.operator))
    // No rule is about users.
    expect(vague.map(({ mutant }) => mutant.change)).to.deep.equal(['users.relations.owner: "id" -> "boss"'])
    // The server alone writes three fields; a thing moves between two boxes.
    const kindOf = (name: string) =>
      judged.find(({ mutant }) => mutant.change === `things.progress: ["status"] -> ["status","${name}"]`)?.verdict.kind
    expect(['id', 'createdAt', 'updatedAt'].map(kindOf)).to.deep.equal(['not-found', 'not-found', 'not-found'])
    expect(kindOf('boxId')).to.equal('survived')
    expect(Object.keys(OPERATORS)).to.include.members([...made])
    const conditions = judged.filter(({ mutant }) => mutant.operator === 'change-condition')
    expect(new Set(conditions.map(({ verdict }) => verdict.kind))).to.deep.equal(new Set(['survived']))
    const text = MUTATE_FORMATS.text({ judged: conditions, guarantees: [], unmet: 0, unpredictable: 0, unasked: 0 })
    expect(text).to.match(/conditions\.yaml:1 .*office: .*192\.0\.2\.0\/23/)
    expect(text).to.match(/`office` holds in only one of both meanings, from 192\.0\.3\.255, is/)
    expect(text).to.match(/`fresh` holds in only one of both meanings, signed in 900(\.001)? s ago, is/)
  })

  it('tells a climb from one that goes a step less or more', async () => {
    const climbing = await suiteOfFiles({
      'roles.yaml': 'clerk: { description: c }\n',
      'ownership.yaml': stringify({ things: { relations: closureOf('things', ['below']).things } }),
      'policy.csv': 'p, clerk, things, list|read, below, *, allow\n',
    })
    const { judged } = await mutate(await climbing.suite(), {
      only: new Set(['change-relation']),
      observe: () => undefined,
    })
    const depths = judged.filter(({ mutant }) => /"depth":(2|4)/.test(mutant.change))
    expect(depths.map(({ verdict }) => verdict.kind)).to.deep.equal(['survived', 'survived'])
    await removeFolder(climbing.folder)
  })

  it('does not call a changed condition equivalent that no request shows, and counts it', async () => {
    const wide = await suiteOfFiles({
      'roles.yaml': 'clerk: { description: c }\n',
      'conditions.yaml': 'wide: { network: [0.0.0.0/0, 192.0.2.0/24] }\n',
      'policy.csv': 'p, clerk, things, read, wide, *, allow\n',
    })
    const { judged } = await mutate(await wide.suite(), {
      only: new Set(['change-condition']),
      observe: () => undefined,
    })
    const lost = judged.filter(({ verdict }) => verdict.kind === 'not-found')
    expect(lost).to.not.be.empty
    const mutation = { judged: lost, guarantees: [], unmet: 0, unpredictable: 0, unasked: 0 }
    expect(scoreOf(mutation)).to.equal(0)
    expect(MUTATE_FORMATS.text(mutation)).to.match(
      /condition wide: .*\n +tried \d+ requests: .*GET \/things\/\{id\}.*, as anonymous, clerk, everyone$/m,
    )
    await removeFolder(wide.folder)
  })

  it('finds the write that shows one field more beside a change of state, and a move to another parent', async () => {
    const { things, ...others } = closureOf('things', ['owner', 'inBox'])
    const relations = { ...others, things: { ...things, live: { field: 'open', in: [true] } } }
    const archive = await suiteOfFiles({
      'roles.yaml': 'clerk: { description: c }\n',
      'ownership.yaml': ownershipText(relations),
      'views.yaml': 'things: { archiving: [open], text: [title] }\n',
      'policy.csv': `p, clerk, things, update, owner+live>!live, archiving, allow
p, clerk, things, update, inBox, text, allow
`,
    })
    const { judged } = await mutate(await archive.suite(), { only: new Set(['add-field']), observe: () => undefined })
    const of = (change: string) => judged.find(({ mutant }) => mutant.change === change)?.verdict
    for (const [change, body] of Object.entries({
      'things.archiving: ["open"] -> ["open","title"]': ['open', 'title'],
      'things.text: ["title"] -> ["title","boxId"]': ['boxId'],
    })) {
      const verdict = of(change)
      if (verdict?.kind !== 'survived') throw new Error(`${change} is ${verdict?.kind}`)
      const { cell, expected } = verdict.witness
      expect([cell.method, Object.keys(cell.content ?? {}), expected.status]).to.deep.equal(['PATCH', body, 403])
    }
    await removeFolder(archive.folder)
  })
})
