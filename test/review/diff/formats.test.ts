/** How a diff is shown: no name in a policy can pass for words or markup, and the JSON keeps to its schema. */
import { readFileSync } from 'node:fs'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import fc from 'fast-check'
import { fails, type PolicyDiff } from '../../../src/analysis/diff/compare-policies.ts'
import { markdownText, plainText, say } from '../../../src/present/phrase.ts'
import { DIFF_FORMATS } from '../../../src/tools/diff/formats.ts'
import { ANY_CHARACTER } from '../../any-character.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { policyDiff } from './command.ts'
import { CASES } from './edits.ts'
import { POLICIES, reportOnEdits } from './shipped.ts'

const { text: diffText, json: diffJson, markdown: diffMarkdown, html: diffHtml } = DIFF_FORMATS

const HOSTILE = 'user:x`|<img src=x onerror=alert(1)>|@admin\u001b[2J [a](javascript:b) gains everything ![i](//e)'

const validate = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true }).compile(
  JSON.parse(readFileSync(new URL('../../../docs/schemas/policy-diff.schema.json', import.meta.url), 'utf8')),
)

function hostileReport(): PolicyDiff {
  return reportOnEdits({ 'policy.csv': [['', `p, ${HOSTILE.replace('\u001b', '')}, notes, read, any, *, allow`]] })
}

describe('a policy diff in JSON', () => {
  for (const [name, { edits, first }] of Object.entries(CASES)) {
    it(`keeps to its schema: ${name}`, () => {
      const json = JSON.parse(diffJson(reportOnEdits(edits, first)))
      expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
      expect(json.changes.length).to.equal(CASES[name]?.says.length)
    })
  }

  it('has what each changed line means by itself, where it is asked for', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(POLICIES, folder, { recursive: true })
    const file = join(folder, 'policy.csv')
    const text = await readFile(file, 'utf8')
    const widening = 'p, member, users, list, any, public, allow'
    const lines = [...text.replace('p, member, accounts, list|read', 'p, member, accounts, read').split('\n')]
    lines.splice(-2, 0, '# a remark', widening, 'p, suport, notes, read, any, *, allow'.replace('suport', 'support'))
    await writeFile(file, lines.join('\n'))
    const { stdout } = await policyDiff(POLICIES, folder, '--format', 'json', '--lines')
    const json = JSON.parse(stdout)
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    const placeOf = (start: string) => lines.findIndex((line) => line.startsWith(start)) + 1
    const told: readonly { file: string; line: number; says: readonly string[] }[] = json.lines
    expect(told.map((one) => [one.file, one.line, one.says[0]])).to.deep.equal([
      [
        'policy.csv',
        placeOf('p, member, accounts, read'),
        'narrows: member (also: support) loses list on accounts (owner)',
      ],
      [
        'policy.csv',
        placeOf(widening),
        'widens: member gains list on users (any), only fields id, displayName and bio',
      ],
      ['policy.csv', placeOf('p, support, notes'), 'widens: support gains read on notes (any, had owner)'],
    ])
    // Each is the diff from the files without that line.
    await writeFile(join(folder, 'policy.csv'), lines.toSpliced(placeOf(widening) - 1, 1).join('\n'))
    const without = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(folder, without, { recursive: true })
    await writeFile(file, lines.join('\n'))
    const alone = JSON.parse((await policyDiff(without, folder, '--format', 'json')).stdout)
    const sentences = alone.changes.map(({ sentence }: { sentence: string }) => sentence)
    expect(told[1]?.says.map((one) => one.replace(/^[a-z ]+: /, ''))).to.deep.equal(sentences)
    expect((await policyDiff(POLICIES, folder, '--format', 'json')).stdout).to.not.contain('"lines"')
    expect(await policyDiff(POLICIES, folder, '--lines'))
      .to.have.nested.property('error.message')
      .that.matches(/--lines is for JSON alone/)
    await removeFolder(folder)
    await removeFolder(without)
  })

  it('has fewer lines of a larger policy, where each takes longer', async () => {
    const [one, other] = [await mkdtemp(join(tmpdir(), 'sallyport-')), await mkdtemp(join(tmpdir(), 'sallyport-'))]
    for (const folder of [one, other]) await cp(POLICIES, folder, { recursive: true })
    const text = await readFile(join(POLICIES, 'policy.csv'), 'utf8')
    const textWith = (rules: readonly string[]) =>
      text.replace('# end of policy', `${rules.join('\n')}\n# end of policy`)
    const rule = (i: number) => `p, user:u${i}, notes, read, owner, *, allow`
    const many = Array.from({ length: 4000 }, (_, i) => rule(i))
    await writeFile(join(one, 'policy.csv'), textWith(many))
    await writeFile(
      join(other, 'policy.csv'),
      textWith([...many, ...Array.from({ length: 9 }, (_, i) => rule(5000 + i))]),
    )
    const { stdout } = await policyDiff(one, other, '--format', 'json', '--lines')
    expect(JSON.parse(stdout).lines).to.have.length(4)
    for (const folder of [one, other]) await removeFolder(folder)
  })

  it('that has something else in it does not', () => {
    const json = JSON.parse(diffJson(reportOnEdits(CASES['limits change']?.edits ?? {})))
    expect(validate({ ...json, more: 1 })).to.equal(false)
    expect(validate({ ...json, changes: json.changes.map((one: object) => ({ ...one, kind: 'x' })) })).to.equal(false)
  })
})

describe('a name in a policy diff', () => {
  it('stays text in markdown, whatever is in it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), fc.constant(HOSTILE)), (name) => {
        const written = markdownText(say`${name}`)
        expect(written).to.match(/^<code>[^<>`|@*_~[\]\\\n]*<\/code>$/)
      }),
    )
  })

  it('stays on its line in a terminal, and shows what is invisible', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), (name) => {
        expect(plainText(say`${name}`)).to.match(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u)
      }),
    )
    expect(plainText(say`${'user:a\u202eb'}`)).to.equal('"user:a\\u{202e}b"')
  })

  it('stands in quotes where it could be taken for words', () => {
    expect(plainText(say`${'user:x gains all'} gains ${'read'}`)).to.equal('"user:x gains all" gains read')
    expect(plainText(say`${'user:"'}`)).to.equal('"user:\\""')
    expect(diffText(hostileReport())).to.include('+ "user:x`|<img')
  })

  it('that would be markup makes no markup in a comment', () => {
    const comment = diffMarkdown(hostileReport())
    expect(comment).to.include('gains <code>read</code> on <code>notes</code> (any) |')
    expect(comment).not.to.match(/<img|@admin|javascript:|\[a\]/)
  })
})

describe('a policy diff of many transitions', () => {
  const SOURCES = ['draft', 'placed', 'shipped', 'open', 'owner+draft', 'owner+placed']
  const RULES = SOURCES.map((from) => `p, auditor, orders, replace, ${from}>shipped, *, allow`)
    .concat(SOURCES.map((from) => `p, auditor, orders, replace, ${from}>cancelled, *, allow`))
    .join('\n')
  const report = () =>
    reportOnEdits({
      'policy.csv': [
        ['', RULES],
        ['p, auditor, *,        create|replace|update|delete, any, *, deny\n', ''],
      ],
    })
  const longest = (text: string) => Math.max(...text.split('\n').map(({ length }) => length))

  it('has in text no line of more than 100 characters, and tells results of one object together', () => {
    const text = diffText(report())
    const sentences = JSON.parse(diffJson(report())).changes.map(({ sentence }: { sentence: string }) => sentence)
    expect(longest(sentences.join('\n')), 'a sentence').to.be.greaterThan(100)
    expect(longest(text)).to.be.at.most(100)
    expect(text).to.match(
      / {2}\+ auditor gains replace on orders \(in \d+ cases\)\n {6}where \S+>\S+ or \S+\n {12}\S+>/,
    )
  })

  it('is a page without a script, whose names stay text', () => {
    const page = diffHtml(report())
    expect(page)
      .to.match(/<dt>where<\/dt><dd><code>/)
      .and.not.to.include('<script')
    const hostile = diffHtml(hostileReport())
    expect(hostile).to.include('&lt;img src=x').and.not.to.include('<img')
  })

  it('says on its page that two policies are equivalent', () => {
    expect(diffHtml(reportOnEdits({}))).to.include('equivalent: their files are the same')
  })
})

describe('a policy diff in markdown', () => {
  it('is a table of directions and changes', () => {
    const comment = diffMarkdown(reportOnEdits(CASES['a role is added']?.edits ?? {}))
    expect(comment.split('\n')).to.deep.equal([
      '### Policy diff: <code>old</code> → <code>new</code>',
      '',
      '1 widening, 1 neutral',
      '',
      '| direction | change |',
      '| --- | --- |',
      '| **widening** | <code>intern</code> gains <code>read</code> on <code>orders</code> (any) |',
      '| **neutral** | role <code>intern</code> is declared |',
      '',
    ])
  })

  it('fits into one comment, and counts what does not', () => {
    const users = Array.from({ length: 2000 }, (_, i) => `user:u${i}`).join('\n')
    const comment = diffMarkdown(reportOnEdits({ 'blocked.txt': [['', users]] }))
    expect(comment.length).to.be.lessThan(65_536)
    expect(comment).to.match(/\| \| and \d+ more, which `sallyport policy diff` shows \|\n$/)
  })
})

describe('the command policy diff', () => {
  let edited: string

  before(async () => {
    edited = await mkdtemp(join(tmpdir(), 'sallyport-diff-'))
    await cp(POLICIES, edited, { recursive: true })
    const csv = join(edited, 'policy.csv')
    await writeFile(csv, (await readFile(csv, 'utf8')).replace('g, support, member\n', ''))
  })

  after(() => removeFolder(edited))

  it('fails on the direction that it was told, and on nothing without', async () => {
    const codeOf = async (...args: readonly string[]) => (await policyDiff(...args)).exitCode
    expect(await codeOf(POLICIES, edited)).to.equal(0)
    expect(await codeOf(POLICIES, edited, '--fail-on', 'widening')).to.equal(1)
    expect(await codeOf(POLICIES, edited, '--fail-on', 'narrowing')).to.equal(1)
    expect(await codeOf(POLICIES, edited, '--fail-on', 'any')).to.equal(1)
    expect(await codeOf(POLICIES, POLICIES, '--fail-on', 'any')).to.equal(0)
  })

  it('takes what may go either way for widening and for narrowing, and what is neutral for neither', () => {
    const either = reportOnEdits(CASES['a relation compares another field']?.edits ?? {})
    const neutral = reportOnEdits(CASES['what changes no request']?.edits ?? {})
    const gain = reportOnEdits(CASES['a whole action is gained']?.edits ?? {})
    const verdicts = (report: PolicyDiff) => (['widening', 'narrowing', 'any'] as const).map((on) => fails(report, on))
    expect(verdicts(either)).to.deep.equal([true, true, true])
    expect(verdicts(neutral)).to.deep.equal([false, false, true])
    expect(verdicts(gain)).to.deep.equal([true, false, true])
  })

  it('prints each format to stdout', async () => {
    const { stdout } = await policyDiff(POLICIES, edited, '--format', 'json')
    expect(validate(JSON.parse(stdout))).to.equal(true)
    expect((await policyDiff(POLICIES, edited)).stdout).to.include('Narrowing: less is allowed\n  - support loses')
    expect((await policyDiff(POLICIES, edited, '--format', 'markdown')).stdout).to.match(/^### Policy diff: /)
    expect((await policyDiff(POLICIES, edited, '--format', 'html')).stdout).to.match(/^<!doctype html>/)
  })

  it('can not run on what it does not know, and prints nothing', async () => {
    const wrong = [['--format', 'yaml'], ['--fail-on', 'maybe'], ['--schemas', join(edited, 'nowhere')], ['--nonsense']]
    for (const args of wrong) {
      const { exitCode, stdout } = await policyDiff(POLICIES, edited, ...args)
      expect({ exitCode, stdout }, args.join(' ')).to.deep.equal({ exitCode: 2, stdout: '' })
    }
    expect((await policyDiff(POLICIES)).exitCode).to.equal(2)
  })
})
