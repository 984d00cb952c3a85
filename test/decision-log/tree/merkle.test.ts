/** The tree of RFC 6962, its files, and its proofs: against the definitions, and against known values. */
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { GrowingTree } from '../../../src/decision-log/tree/growing-tree.ts'
import {
  isConsistent,
  isIncluded,
  leafHash,
  nodeHash,
  rootOf,
  type TreeHash,
} from '../../../src/decision-log/tree/merkle.ts'
import { removePartial, TileTree, UnusableTile, writeTile } from '../../../src/decision-log/tree/tiles.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { runs } from '../../runs.ts'

/** The leaves and roots that the tests of Certificate Transparency use (google/certificate-transparency, merkletree). */
const LEAVES = ['', '\0', '\x10', ' !', '01', '@ABC', 'PQRSTUVW', '`abcdefghijklmno']
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

describe('the tree of a decision log', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  })
  afterEach(() => removeFolder(folder))

  it('has the roots of Certificate Transparency', () => {
    const tree = new GrowingTree()
    const roots = [hex(tree.root())]
    for (const leaf of LEAVES) {
      tree.add(leafHash(leaf))
      roots.push(hex(tree.root()))
    }
    expect(roots).to.deep.equal(ROOTS)
  })

  it('has at each size the root that RFC 6962 defines, in memory and in its files, however it was interrupted', async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 200, max: 700 })), {
      minLength: 1,
      maxLength: 4,
    })
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (parts, chosen) => {
        const place = await mkdtemp(join(folder, 'tree-'))
        const leaves: TreeHash[] = []
        for (const part of parts) {
          const before = new TileTree(place, leaves.length)
          const tree = new GrowingTree(leaves.length, endsOf(before))
          for (let i = 0; i < part; i++) {
            leaves.push(leafHash(`${leaves.length}`))
            tree.add(leaves.at(-1) ?? '')
          }
          for (const tile of [...tree.takeFull(), ...tree.partial()]) await writeTile(place, tile)
          expect(hex(tree.root())).to.equal(hex(defined(leaves)))
          const after = new TileTree(place, leaves.length)
          expect(hex(after.root())).to.equal(hex(defined(leaves)))
          const size = chosen % (leaves.length + 1)
          expect(hex(after.root(size))).to.equal(hex(defined(leaves.slice(0, size))))
        }
      }),
      { numRuns: runs(100, 15) },
    )
  })

  it('proves each leaf, and nothing with a hash, a number or a size that was changed', async () => {
    const leaves = Array.from({ length: 300 }, (_, at) => leafHash(`${at}`))
    await written(folder, leaves)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.nat(), (size, chosen, other) => {
        // A smaller tree has other files; its range of the larger one is the same.
        const index = chosen % size
        const tree = new TileTree(folder, 300)
        const whole = { index, size: 300, root: tree.root() }
        const proof = tree.inclusion(index)
        const leaf = leaves[index] ?? ''
        expect(isIncluded(leaf, whole, proof)).to.equal(true)
        expect(isIncluded(leafHash('another'), whole, proof)).to.equal(false)
        expect(isIncluded(leaf, { ...whole, index: (index + 1) % 300 }, proof)).to.equal(false)
        expect(isIncluded(leaf, whole, proof.slice(1))).to.equal(false)
        expect(isIncluded(leaf, whole, [...proof, leaf])).to.equal(false)
        const at = other % proof.length
        expect(isIncluded(leaf, whole, proof.with(at, nodeHash(leaf, leaf)))).to.equal(false)
        expect(isIncluded(leaf, { ...whole, root: leaf }, proof)).to.equal(false)
      }),
      { numRuns: runs(1000) },
    )
  })

  it('proves each of its beginnings, and nothing with a hash, a size or a root that was changed', async () => {
    const leaves = Array.from({ length: 300 }, (_, at) => leafHash(`${at}`))
    const roots = leaves.map((_, at) => ({ size: at + 1, root: defined(leaves.slice(0, at + 1)) }))
    await written(folder, leaves)
    const tree = new TileTree(folder, 300)
    const whole = { size: 300, root: tree.root() }
    const other = leafHash('another')
    for (const before of roots) {
      const proof = tree.consistency(before.size)
      const known = JSON.stringify(before.size)
      expect(isConsistent(before, whole, proof), known).to.equal(true)
      expect(isConsistent({ ...before, root: other }, whole, proof), known).to.equal(false)
      expect(isConsistent(before, { ...whole, root: other }, proof), known).to.equal(false)
      expect(isConsistent(before, whole, [...proof, other]), known).to.equal(false)
      expect(isConsistent({ ...before, size: before.size + 1 }, whole, proof), known).to.equal(false)
      for (const at of proof.keys()) {
        expect(isConsistent(before, whole, proof.with(at, other)), `${known}, hash ${at}`).to.equal(false)
        expect(isConsistent(before, whole, proof.toSpliced(at, 1)), `${known}, without ${at}`).to.equal(false)
      }
    }
    expect(isConsistent({ size: 0, root: '' }, whole, tree.consistency(0))).to.equal(true)
    expect(isConsistent(whole, roots[0] ?? whole, [])).to.equal(false)
  })

  it('has its files where tlog-tiles puts them, with the widths of the specification', async () => {
    await written(
      folder,
      Array.from({ length: 70_000 }, (_, at) => leafHash(`${at}`)),
    )
    // 70,000 leaves are the example of c2sp.org/tlog-tiles.
    const files = await readdir(join(folder, 'tile'), { recursive: true, withFileTypes: true })
    const names = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name).slice(folder.length))
    expect(names.filter((name) => name.startsWith('/tile/0/') && !name.includes('.p/')).length).to.equal(273)
    expect(names).to.include.members([
      '/tile/0/000',
      '/tile/0/272',
      '/tile/0/273.p/112',
      '/tile/1/000',
      '/tile/1/001.p/17',
      '/tile/2/000.p/1',
    ])
    expect(names.length).to.equal(273 + 5 - 1)
    expect((await readFile(join(folder, 'tile/0/000'))).length).to.equal(8192)
    await writeTile(folder, { level: 0, number: 1_234_067, hashes: [leafHash('x')] })
    expect((await readFile(join(folder, 'tile/0/x001/x234/067.p/1'))).length).to.equal(32)
    await removePartial(folder, { level: 0, number: 1_234_067, hashes: [leafHash('x')] }, false)
    expect(await readdir(join(folder, 'tile/0/x001/x234/067.p'))).to.deep.equal([])
  })

  it('refuses a file of hashes that was changed, cut or removed', async () => {
    const leaves = Array.from({ length: 600 }, (_, at) => leafHash(`${at}`))
    await written(folder, leaves)
    const file = join(folder, 'tile/0/001')
    const bytes = await readFile(file)
    const at = 300
    expect(new TileTree(folder, 600).leaf(at)).to.equal(leaves[at])
    await writeFile(
      file,
      bytes.map((byte, i) => (i === 7000 ? byte ^ 1 : byte)),
    )
    expect(() => new TileTree(folder, 600).leaf(at)).to.throw(UnusableTile, 'tile/0/001')
    await writeFile(file, bytes.subarray(0, 8000))
    expect(() => new TileTree(folder, 600).leaf(at)).to.throw(UnusableTile)
    await removeFolder(file)
    expect(() => new TileTree(folder, 600).leaf(at)).to.throw(UnusableTile)
    expect(() => new TileTree(folder, 600).leaf(0)).not.to.throw()
  })
})

/** RFC 6962, section 2.1, word by word. */
function defined(leaves: readonly TreeHash[]): TreeHash {
  if (leaves.length < 2) return leaves[0] ?? rootOf([])
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return nodeHash(defined(leaves.slice(0, split)), defined(leaves.slice(split)))
}

function endsOf(tree: TileTree): readonly (readonly TreeHash[])[] {
  return [0, 1, 2].filter((level) => 256 ** level <= tree.size).map((level) => tree.partial(level))
}

async function written(folder: string, leaves: readonly TreeHash[]): Promise<void> {
  const tree = new GrowingTree()
  for (const leaf of leaves) tree.add(leaf)
  for (const tile of [...tree.takeFull(), ...tree.partial()]) await writeTile(folder, tile)
}

function hex(hash: TreeHash): string {
  return Buffer.from(hash, 'latin1').toString('hex')
}
