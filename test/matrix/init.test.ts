/** A written matrix is the policy as it is: the server answers so, nothing is missing, and it is the same next time. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { measureCoverage, percentOf } from '../../src/matrix/coverage/coverage.ts'
import { columnsFor, planMatrix, statedIn } from '../../src/matrix/init/plan-matrix.ts'
import { storeNew, storeOver } from '../../src/matrix/init/store-matrix.ts'
import { writeMatrix } from '../../src/matrix/init/write-matrix.ts'
import type { Bench } from '../../src/matrix/predict/bench.ts'
import { runCell } from '../../src/matrix/run/run-cell.ts'
import { ReviewError } from '../../src/review/load-policy.ts'
import { startMatrixServer } from './matrix-server.ts'
import { benchOf, benchOfText, newFolder, ROOT } from './predict/benches.ts'

function written(bench: Bench) {
  return writeMatrix(
    planMatrix(bench, columnsFor(bench), () => false),
    '',
  )
}

describe('sallyport matrix init', () => {
  it('writes what the server answers, and leaves no cell out', async () => {
    const folder = await newFolder()
    await storeNew(folder, written(await benchOf()))
    const bench = await benchOf(folder)
    expect(percentOf(measureCoverage(bench).cells)).to.equal(100)
    const server = await startMatrixServer(bench.expectations)
    const red: string[] = []
    for (const one of bench.expectations) {
      const { why } = await runCell(server.ground, server.stage, one)
      if (why !== undefined) red.push(`${one.place.file}:${one.place.line} ${why}`)
    }
    await server.stop()
    expect(bench.expectations.length).to.be.greaterThan(600)
    expect(red).to.deep.equal([])
  }).timeout(60_000)

  it('writes the same bytes again', async () => {
    expect(written(await benchOf())).to.deep.equal(written(await benchOf()))
  })

  it('says views and whose objects a list holds, where they fit exactly', async () => {
    const texts = new Map(written(await benchOf()).map(({ name, text }) => [name, text]))
    expect(texts.get('orders.csv')).to.match(/^GET\|HEAD,\/api\/orders,none,401,200 \[own\],200 \[all\],/m)
    expect(texts.get('users.csv')).to.match(/^GET\|HEAD,\/profile\/\{id\},other,200 public,/m)
    expect(texts.get('users.csv')).to.match(/^GET\|HEAD,\/api\/users,none,401,403,200 contact,200 \[all\],/m)
  })

  it('takes the columns of the matrices that are there', async () => {
    const bench = await benchOf(join(ROOT, 'test/matrix'))
    const [head] = (written(bench)[0]?.text ?? '').split('\n')
    expect(head).to.equal('method,path,object,anonymous,member,support,auditor,admin,auditor+member')
  })

  it('writes only what is missing when asked', async () => {
    const bench = await benchOfText(
      'method,path,object,member\nGET|HEAD|OPTIONS,/api/v1/notes,none,-\nPOST,/api/v1/notes,none,201\n',
    )
    const plan = planMatrix(bench, [{ kind: 'roles', roles: ['member'] }], statedIn(bench))
    const [notes] = writeMatrix(plan, '.missing').filter(({ name }) => name === 'notes.missing.csv')
    expect(notes?.text).to.match(/^GET\|HEAD,\/api\/v1\/notes,none,200 \[own\]$/m)
    expect(notes?.text).to.not.match(/^POST/m)
  })

  it('overwrites nothing unasked, and then writes nothing', async () => {
    const folder = await newFolder()
    await writeFile(join(folder, 'notes.csv'), 'mine')
    const files = written(await benchOf())
    const refused = await storeNew(folder, files).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ReviewError)
    expect((refused as Error).message).to.match(/notes\.csv` would be overwritten; write to another folder with --out/)
    expect(await readdir(folder)).to.deep.equal(['notes.csv'])
    expect(await readFile(join(folder, 'notes.csv'), 'utf8')).to.equal('mine')
    await storeOver(folder, files)
    expect(await readdir(folder)).to.have.length(files.length)
  })
})
