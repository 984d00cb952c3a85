/** Commands that the program prints name it in the way that works where they are typed. */
import { expect } from 'chai'
import { commandHere, invocation, programHere, withCommands, wordHere } from '../../src/present/invocation.ts'

describe('a command that is printed', () => {
  for (const [where, folder, root, expected] of [
    ['in a checkout', '/home/me/sallyport', '/home/me/sallyport/', 'npm run -s sallyport --'],
    ['beside the package', '/home/me/app', '/home/me/app/node_modules/sallyport/', 'npx sallyport'],
    ['below the package', '/home/me/app/data', '/home/me/app/node_modules/sallyport/', 'npx sallyport'],
    ['elsewhere', '/home/me', '/opt/my server/', "node '../../opt/my server/bin/sallyport.js'"],
    ['below a checkout', '/srv/sallyport/docs', '/srv/sallyport/', 'node ../bin/sallyport.js'],
  ] as const) {
    it(`starts the program ${where}`, () => {
      expect(invocation({}, folder, root)).to.equal(expected)
    })
  }

  it('is the script of npm that runs this program, where there is one', () => {
    const [folder, root] = ['/tmp/copy', '/srv/sallyport/']
    expect(programHere({ npm_lifecycle_event: 'sallyport' }, folder, root)).to.equal('npm run -s sallyport --')
    expect(programHere({ npm_lifecycle_event: 'start' }, folder, root)).to.include('node ')
  })

  it('takes along what the keys and tokens depend on, and nothing else', () => {
    const environment = { DATA_DIR: "it's mine", JWT_ISSUER: 'https://a.example', JWT_AUDIENCE: '', PORT: '1' }
    expect(invocation(environment, '/a', '/a')).to.equal(
      "DATA_DIR='it'\\''s mine' JWT_ISSUER=https://a.example npm run -s sallyport --",
    )
  })

  it('is the command that failed with another setting, which no flag overrides', () => {
    const words = ['serve', '--demo', '--port', '80', '--workers=2']
    const inCheckout = { npm_lifecycle_event: 'sallyport' }
    const again = (fix: string) => commandHere(fix, words, inCheckout)
    const program = 'npm run -s sallyport --'
    expect(again('PORT=81 {again}')).to.equal(`PORT=81 ${program} serve --demo --workers=2`)
    expect(again('WORKERS=1 {again}')).to.equal(`WORKERS=1 ${program} serve --demo --port 80`)
    expect(again('HOST=::1 {again}')).to.equal(`HOST=::1 ${program} ${words.join(' ')}`)
    expect(again('sallyport eject && {again}')).to.equal(`${program} eject && ${program} ${words.join(' ')}`)
    expect(again('npm install sallyport@latest')).to.equal('npm install sallyport@latest')
  })

  it('is what works in a project, also within a sentence', () => {
    const sentence = 'sallyport: take one from `sallyport key list`, or run sallyport user add, or npx sallyport token'
    expect(withCommands(sentence, 'npx sallyport')).to.equal(
      'sallyport: take one from `npx sallyport key list`, or run npx sallyport user add, or npx sallyport token',
    )
    expect(withCommands('Set one with: sallyport user password x\n', 'npx sallyport')).to.equal(
      'Set one with: npx sallyport user password x\n',
    )
    expect(withCommands('`sallyport` and /opt/sallyport serve', 'npx sallyport')).to.equal(
      '`sallyport` and /opt/sallyport serve',
    )
    expect(withCommands(sentence, 'node ../bin/sallyport.js')).to.equal(sentence)
    expect(['npx sallyport', 'npm run -s sallyport --'].map(wordHere)).to.deep.equal(['npx sallyport', 'sallyport'])
  })
})
