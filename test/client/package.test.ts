/** What is published of packages/client: built, it runs and its types hold for a program that names it, without the rest. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'

const run = promisify(execFile)

const ROOT = new URL('../..', import.meta.url).pathname
const PACKAGE = join(ROOT, 'packages/client')
const TSC = join(ROOT, 'node_modules/.bin/tsc')

const PROGRAM = `
import { AuthzenClient, AuthzenError, type Question } from '@sallyport/client'
import { guard as express } from '@sallyport/client/express'
import { guard as fastify } from '@sallyport/client/fastify'
import { guard as koa } from '@sallyport/client/koa'

const client = new AuthzenClient({ url: 'http://127.0.0.1:9' })
const subject = () => ({ type: 'user', id: 'alice' })
for (const guard of [koa, express, fastify]) guard(client, { subject })('read', 'orders')
const question: Question = { subject: subject(), action: { name: 'read' }, resource: { type: 'orders', id: '1' } }
const allowed: boolean = await client.allows(question)
const code = await client.evaluate(question).catch((error: unknown) => (error instanceof AuthzenError ? error.code : ''))
const found = async (): Promise<readonly string[]> => {
  const { results } = await client.search('resource', { ...question, resource: { type: 'orders' } })
  return results.map(({ id }) => id)
}
console.log(JSON.stringify({ allowed, code, search: typeof found }))
`

const MISTAKE =
  "\nawait client.evaluate({ subject: subject(), action: 'read', resource: { type: 'orders', id: '1' } })\n"

describe('the package of the client', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-client-'))
    const installed = join(folder, 'node_modules/@sallyport/client')
    await mkdir(installed, { recursive: true })
    await run(TSC, ['-p', PACKAGE, '--outDir', join(installed, 'dist')])
    await cp(join(PACKAGE, 'package.json'), join(installed, 'package.json'))
    // Types alone come from these.
    for (const name of ['@types', 'koa', 'express', 'fastify', 'undici-types', 'pino']) {
      await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  })
  after(() => removeFolder(folder))

  const check = (file: string) =>
    run(TSC, ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', '--skipLibCheck', file], {
      cwd: folder,
    }).then(
      () => '',
      ({ stdout }) => String(stdout),
    )

  it('depends on nothing, and has each file that it exports', async () => {
    const manifest = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))
    expect(manifest).to.not.have.any.keys('dependencies', 'optionalDependencies', 'bundledDependencies')
    expect(Object.values(manifest.peerDependenciesMeta)).to.deep.equal([
      { optional: true },
      { optional: true },
      { optional: true },
    ])
    const files = Object.values<Record<string, string>>(manifest.exports).flatMap((one) => Object.values(one))
    expect(files).to.have.length.greaterThan(7)
    for (const file of files) {
      expect(existsSync(join(folder, 'node_modules/@sallyport/client', file)), file).to.equal(true)
    }
  })

  it('type-checks in a strict program, which a mistake would fail', async () => {
    await writeFile(join(folder, 'program.ts'), PROGRAM)
    expect(await check('program.ts')).to.equal('')
    await writeFile(join(folder, 'mistake.ts'), PROGRAM + MISTAKE)
    expect(await check('mistake.ts')).to.contain("Type 'string' is not assignable to type 'Action'")
  })

  it('runs as JavaScript, where no framework is installed', async () => {
    await writeFile(join(folder, 'program.ts'), PROGRAM)
    await check('program.ts')
    for (const name of ['koa', 'express', 'fastify', '@types']) await rm(join(folder, 'node_modules', name))
    const { stdout } = await run(process.execPath, ['program.js'], { cwd: folder })
    expect(JSON.parse(stdout)).to.deep.equal({ allowed: false, code: 'unreachable', search: 'function' })
  })
})
