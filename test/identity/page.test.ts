/** docs/identity.md, run as printed: signing in, calling, refreshing, signing out, adding a user, and what else stands there. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'
import { program } from '../programs.ts'

const PROVIDER = 'npx node examples/openid-provider.ts 4000'
const WITH_PROVIDER =
  'PORT=3005 ADMIN_PORT=9091 DATA_DIR=company OIDC_ISSUER=http://127.0.0.1:4000 OIDC_AUDIENCE=https://api.example.com OIDC_ROLES_CLAIM=groups npm run -s sallyport -- serve'

describe('docs/identity.md', () => {
  let page: PlayedPage
  before(async () => {
    program('curl')
    page = await playPage('docs/identity.md', ['npm start', PROVIDER, WITH_PROVIDER], {
      ports: ['4000', '3005', '9091'],
    })
  })
  after(() => page.stop())

  it('shows what its commands print', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length.at.least(6)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(missingFrom(shown[0]?.printed ?? '', ['what nobody printed'])).to.deep.equal(['what nobody printed'])
  })

  it('quotes the lines of the shipped policy', async () => {
    const [text, policy] = await Promise.all(
      ['docs/identity.md', 'policies/policy.csv'].map((name) => readFile(name, 'utf8')),
    )
    const quoted = text?.match(/^p, everyone, system.*$/gm) ?? []
    expect(quoted).to.have.length(2)
    for (const line of quoted) expect(policy?.split('\n')).to.include(line)
  })

  it('has no command that fails', () => {
    const failed = page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])
    expect(failed).to.deep.equal([])
  })

  it('leaves no password and no token in the log', async () => {
    const log = await readFile(`${page.folder}/data/decisions.log`, 'utf8')
    const { access_token, refresh_token } = JSON.parse(await readFile(`${page.folder}/tokens.json`, 'utf8'))
    for (const secret of ['sallyport-demo', 'a wrong guess', 'correct horse', access_token, refresh_token]) {
      expect(log).to.not.include(secret)
    }
    expect(log).to.include('"objectId":"alice"')
  })
})
