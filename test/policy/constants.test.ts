/** A constant that no object can have is refused: a deny by such a relation would deny nothing, in silence. */
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('a constant of a state relation', () => {
  for (const [relation, refused] of [
    ['{ field: status, in: [shipped] }', undefined],
    ['{ field: id, in: [01890a5d-ac96-774b-bcce-b302099a8057] }', undefined],
    ['{ field: status, in: [shiped] }', '`shiped` can never be the value of `status`'],
    ['{ field: status, in: [draft, Placed] }', '`Placed` can never be the value of `status`'],
    ['{ field: id, in: [not-a-uuid] }', '`not-a-uuid` can never be the value of `id`'],
    ['{ field: currency, in: [euro] }', '`euro` can never be the value of `currency`'],
  ] as const) {
    it(`${relation} is ${refused === undefined ? 'taken' : 'refused'}`, async () => {
      const message = await faultOf(relation)
      if (refused === undefined) expect(message).to.equal(undefined)
      else
        expect(message)
          .to.include(refused)
          .and.match(/ownership\.yaml:\d+:\d+: /)
    })
  }

  async function faultOf(relation: string): Promise<string | undefined> {
    const files = await readPolicyFiles(`${ROOT}policies`)
    const { name, text } = files['ownership.yaml']
    const changed = {
      name,
      text: text.replace('orders:\n  relations:', `orders:\n  relations:\n    frozen: ${relation}`),
    }
    try {
      parsePolicy({ ...files, 'ownership.yaml': changed }, await loadResources(`${ROOT}schemas`))
      return undefined
    } catch (error) {
      if (error instanceof FileError) return error.message
      throw error
    }
  }
})
