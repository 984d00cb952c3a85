/** What others rely on is as accepted: `npm run surface` accepts a change, and what went is in CHANGELOG.md. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { collectSurface } from '../../scripts/surface/collect.ts'
import { compareSurfaces, lastWord, unmentioned } from '../../scripts/surface/compare.ts'
import type { Surface } from '../../scripts/surface/members.ts'
import { type AcceptedSurface, readAccepted } from '../../scripts/surface.ts'

describe('the surface', () => {
  let accepted: AcceptedSurface
  let present: Surface
  let changelog: string

  before(async () => {
    accepted = await readAccepted()
    present = await collectSurface()
    changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  })

  it('is as accepted', () => {
    const sentences = compareSurfaces(accepted.members, present).map(({ sentence }) => sentence)
    expect(sentences.slice(0, 20), sentences.slice(0, 20).join('\n')).to.deep.equal([])
  })

  it('has no member that went without a line in CHANGELOG.md', () => {
    expect(unmentioned(accepted.gone, changelog)).to.deep.equal([])
    expect(
      unmentioned(['command policy check --never-there', 'problem not-ready'], '## 2\n\n`not-ready`\n\n## 1\n'),
    ).to.deep.equal(['command policy check --never-there'])
    expect(unmentioned(['problem not-ready'], '## 2\n\n## 1\n\n`not-ready`\n'), 'an older section').to.have.length(1)
  })

  it('has all kinds of members', () => {
    for (const member of [
      'command policy check --fail-on = warning',
      'command key add requires --subject',
      'command policy check exits with 2',
      'setting DATABASE_URL',
      'setting default port',
      'problem forbidden',
      'finding self-grant',
      'reason condition-unknown',
      'layout sqlite',
      'file roles.<additionalProperties> requires description',
      'json policy-matrix#cell requires outcome',
      'json decision-record',
      'json upgrade-check',
      'http POST /access/v1/evaluation requires a body',
      'http GET /api/v1/notes answers 200 with RateLimit',
      'http schema Tokens',
      'package @sallyport/client . AuthzenClient.evaluate',
      'package @sallyport/client entry ./koa',
      'package sallyport program sallyport',
      'package create-sallyport program create-sallyport',
    ]) {
      expect(present, member).to.have.property(member)
    }
  })

  describe('would tell, in one sentence each with its step and the command that accepts it,', () => {
    const told = (change: (members: Record<string, string>) => void) => {
      const members = { ...present }
      change(members)
      return compareSurfaces(present, members).map(({ sentence }) => sentence)
    }

    it('a removed option', () => {
      const [sentence, ...others] = told((members) => delete members['command policy check --fail-on = warning'])
      expect(others).to.deep.equal([])
      expect(sentence).to.equal(
        '`command policy check --fail-on = warning` is gone: a major change, below 1.0.0 the middle number; ' +
          'accept it with `npm run surface` and a line in CHANGELOG.md that names `warning`, or take it back',
      )
    })

    it('another default', () => {
      const [sentence] = told((members) => {
        members['setting default port'] = '3001'
      })
      expect(sentence).to.match(/^`setting default port` has another form \(`3000` -> `3001`\): a major change/)
    })

    it('a new problem', () => {
      const [sentence] = told((members) => {
        members['problem too-late'] = '410'
      })
      expect(sentence).to.equal(
        '`problem too-late` is new: a minor change; accept it with `npm run surface`, or take it back',
      )
    })

    it('each other member that goes', () => {
      for (const member of Object.keys(present)) {
        const changes = compareSurfaces({ [member]: present[member] ?? '' }, {})
        expect(
          changes.map(({ kind }) => kind),
          member,
        ).to.deep.equal(['gone'])
      }
    })
  })

  it('knows for whom it is a break that something becomes required, or no longer is', () => {
    const steps = (before: readonly string[], after: readonly string[]) => {
      const surface = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '']))
      return compareSurfaces(surface(before), surface(after)).map(({ step }) => step)
    }
    const [command, file, json] = ['command token', 'file roles', 'json token']
    expect(steps([command], [command, `${command} requires --subject`]), 'of a command').to.deep.equal(['major'])
    expect(steps([], [command, `${command} requires --subject`]), 'of a new command').to.deep.equal(['minor', 'minor'])
    expect(steps([file, `${file} requires x`], [file]), 'no longer of a file').to.deep.equal(['minor'])
    expect(steps([json, `${json} requires x`], [json]), 'no longer of an output').to.deep.equal(['major'])
    expect(steps([json], [json, `${json} requires x`]), 'of an output').to.deep.equal(['minor'])
    expect(compareSurfaces({ 'layout sqlite': '3' }, { 'layout sqlite': '4' }).map(({ step }) => step)).to.deep.equal([
      'minor',
    ])
  })

  it('names members as people do', () => {
    const names = ['command policy check --fail-on', 'file roles.<items>.claims', 'http GET /api/tokens', 'json x#cell']
    expect(names.map(lastWord)).to.deep.equal(['--fail-on', 'claims', '/api/tokens', 'cell'])
  })
})
