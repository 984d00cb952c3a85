/** What is said of a faulty callers.yaml: a plain sentence with its place, and what to do. */
import { expect } from 'chai'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const SAID: readonly (readonly [string, string])[] = [
  ['- member', 'callers.yaml:1:1: the file must be a mapping (`name: value`)'],
  ['a: { fields: true }', 'callers.yaml:1:6: `fields` must be `understood`'],
  ['a: { subjects: {} }', 'callers.yaml:1:6: `subjects` must not be empty'],
  ['a: { subjects: { "": token } }', 'callers.yaml:1:18: a name must not be empty'],
  ['a: { profiles: nginx }', 'callers.yaml:1:6: `profiles` must be a list'],
  ['a: { profiles: [caddy, caddy] }', 'callers.yaml:1:6: `profiles` must not name an element twice'],
  ['a: { addresses: [10.0.0.0/8] }', 'callers.yaml:1:1: `profiles` is missing, and `addresses` needs it (add it)'],
  ['a: { conditions: { b: soft } }', 'callers.yaml:1:20: `b` must be context.<member>, or action.<property>'],
  ['a: { conditions: { b: 5 } }', 'callers.yaml:1:20: `b` must be a text'],
  [
    '"user:a": { conditions: { b: context.b } }',
    'callers.yaml:1:27: the condition `b` is not declared in conditions.yaml (nothing is declared yet)',
  ],
]

describe('a faulty callers.yaml', () => {
  for (const [text, said] of SAID) {
    it(`is told in plain words: ${text}`, () => {
      const parse = () => parsePolicy(filesOf({ 'callers.yaml': `${text}\n` }), RESOURCES)
      expect(parse).to.throw(said)
    })
  }
})
