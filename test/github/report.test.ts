/** Words of files are only words, wherever GitHub shows them: a pull request chooses them. */
import { expect } from 'chai'
import type { Diagnostic } from '../../src/base/diagnostic.ts'
import { jobReport } from '../../src/tools/project/ci/report.ts'
import type { JobStep } from '../../src/tools/project/ci/steps.ts'
import { annotations, command, group, outputLines } from '../../src/tools/project/ci/workflow-commands.ts'

const NASTY = '@everybody ![x](https://evil.example/x.png) <img src=x> | a\n::error::planted'

describe('a report for GitHub', () => {
  const finding: Diagnostic = { file: 'a,b:c%.csv', line: 1, column: 2, code: 'x', severity: 'error', message: NASTY }
  const step = (findings: readonly Diagnostic[]): JobStep => ({
    name: 'check',
    code: 1,
    result: NASTY,
    text: '',
    findings,
    outputs: {},
  })

  it('mentions nobody, loads nothing, and keeps its tables', () => {
    const report = jobReport([step([finding])], 'Sallyport')
    expect(report).to.not.match(/@everybody|!\[|<img|https:\/\/|^::/m)
    expect(report).to.include('everybody')
    const rows = report.split('\n').filter((line) => line.startsWith('|'))
    // The negative control is the text itself.
    expect(NASTY).to.match(/@everybody/)
    expect(rows.map((row) => row.split('|').length)).to.deep.equal([5, 5, 5, 4, 4, 4])
  })

  it('has a broken guarantee as its first line', () => {
    const broken = { ...finding, code: 'guarantee-broken', message: `this breaks the guarantee ${NASTY}` }
    const [first = '', , title] = jobReport([step([finding, broken])], 'Sallyport').split('\n')
    expect(first)
      .to.match(/^\*\*Not as guaranteed:\*\* .*this breaks the guarantee/)
      .and.not.match(/@everybody|!\[|<img/)
    expect(title).to.equal('### Sallyport')
    expect(jobReport([step([finding])], 'Sallyport')).to.match(/^### Sallyport\n/)
  })

  it('shows twenty findings, and counts the others', () => {
    const report = jobReport([step(Array.from({ length: 25 }, () => finding))], 'Sallyport')
    expect(report).to.include('and 5 more, which the log of the job has')
  })

  it('has annotations of one line each, the ten most severe of each level', () => {
    const many = [...Array.from({ length: 12 }, () => ({ ...finding, severity: 'warning' as const })), finding]
    const lines = annotations(many).trimEnd().split('\n')
    expect(lines).to.have.length(11)
    expect(lines[0]).to.match(
      /^::error file=a%2Cb%3Ac%25\.csv,line=1,col=2,title=x::@everybody .*\\u\{a\}::error::planted$/,
    )
  })

  it('gives no command to GitHub in its log, its outputs, or a remark', () => {
    const text = group('files', NASTY, 'word')
    expect(text.split('\n').slice(1, 4)).to.deep.equal(['::stop-commands::word', ...NASTY.split('\n').slice(0, 2)])
    expect(text).to.match(/\n::word::\n::endgroup::\n$/)
    expect(outputLines({ sarif: 'a\nexit-code=0' })).to.equal('sarif=a\\u{a}exit-code=0\n')
    expect(command('error', 'a\r\n::b%')).to.equal('::error::a%0D%0A::b%25\n')
  })
})
