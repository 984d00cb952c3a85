/** An archive is read back as it was written; every change of it is found, and a hostile one writes nothing outside. */
import { appendFile, mkdir, mkdtemp, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { packTar, type TarEntry } from 'modern-tar'
import { BACKUP, type Manifest, placeOfPart } from '../../src/tools/backup/archive/manifest.ts'
import { DamagedArchive, readArchive } from '../../src/tools/backup/archive/read-archive.ts'
import { sealed } from '../../src/tools/backup/archive/seal.ts'
import { bytesPart, writeArchive } from '../../src/tools/backup/archive/write-archive.ts'
import { makeKeyFile } from '../../src/tools/backup/key-file.ts'
import { restoreArchive } from '../../src/tools/backup/restore.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { drawing, runs } from '../runs.ts'

const BEGINNING = { format: BACKUP.format, program: '0.1.0', createdAt: '2026-11-23T00:00:00.000Z' }
const REST = {
  engine: 'sqlite',
  database: { layout: 2, objects: {} },
  decisionLog: { lastWrite: 0, waiting: 0, firstWaiting: null },
  policy: { place: 'database', sequence: 1 },
  signingKeys: { place: 'elsewhere' },
  needs: [],
} as const

const PARTS: Readonly<Record<string, Buffer>> = {
  'database/sallyport.db': Buffer.alloc(3000, 'd'),
  'keys/signing.jwk': Buffer.from('{}'),
  'schemas/orders.json': Buffer.alloc(1024, 's'),
  'policies/empty.csv': Buffer.alloc(0),
}

describe('an archive', () => {
  let folder: string
  let file: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-archive-'))
    file = join(folder, 'a.tar')
  })
  afterEach(() => removeFolder(folder))

  async function write(recipients: readonly string[] = [], parts = PARTS): Promise<Manifest> {
    const all = Object.entries(parts).map(([name, bytes]) => bytesPart(name, bytes))
    const manifest = (sums: Manifest['parts']) => ({ ...BEGINNING, ...REST, parts: sums })
    return writeArchive(file, { kind: BACKUP, beginning: BEGINNING, parts: all, manifest }, recipients)
  }

  async function read(identity?: string): Promise<Record<string, Buffer>> {
    const parts: Record<string, Buffer> = {}
    await readArchive({ file, identity }, BACKUP, async (name, content) => {
      parts[name] = Buffer.concat(await Array.fromAsync(content))
    })
    return parts
  }

  async function expectRefusal(made: Promise<unknown>, text: string): Promise<void> {
    const told = await made.then(
      () => 'made',
      (error: Error) => `${error.name}: ${error.message}`,
    )
    expect(told)
      .to.match(/^ToolError: /)
      .and.contain(text)
  }

  const faultsOf = (identity?: string) =>
    read(identity).then(
      () => [],
      (error) => (error instanceof DamagedArchive ? error.faults : [`${error.name}: ${error.message}`]),
    )

  async function keyFile(name = 'key'): Promise<{ readonly identity: string; readonly recipient: string }> {
    const identity = join(folder, name)
    return { identity, ...(await makeKeyFile(identity, new Date())) }
  }

  it('has the parts that were written, as a tar file that others read', async () => {
    const manifest = await write()
    expect(await read()).to.deep.equal(PARTS)
    expect(manifest.parts.map(({ name }) => name)).to.deep.equal(['archive.json', ...Object.keys(PARTS)])
    expect(await readArchive({ file, identity: undefined }, BACKUP), 'also when nobody takes the parts').to.deep.equal(
      manifest,
    )
  })

  it('tells every flipped byte, wherever it is', async () => {
    await write()
    const bytes = await readFile(file)
    const anywhere = fc.record({
      at: fc.integer({ min: 0, max: bytes.length - 1 }),
      bit: fc.integer({ min: 0, max: 7 }),
    })
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(anywhere, async ({ at, bit }) => {
            await writeFile(file, bytes.with(at, (bytes[at] ?? 0) ^ (1 << bit)))
            expect(await faultsOf(), `byte ${at} of ${bytes.length}`).to.have.length.greaterThan(0)
          }),
          { numRuns: runs(300) },
        ),
      async () => {
        await writeFile(file, bytes)
        expect(await faultsOf(), 'unchanged').to.deep.equal([])
      },
    )
  })

  it('tells what was cut off, and what was added', async () => {
    await write()
    const bytes = await readFile(file)
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (length) => {
            await writeFile(file, bytes)
            await truncate(file, length)
            expect(await faultsOf(), `${length} of ${bytes.length} bytes`).to.have.length.greaterThan(0)
          }),
          { numRuns: runs(100) },
        ),
      async () => {
        await writeFile(file, bytes)
        await appendFile(file, '\0')
        expect(await faultsOf()).to.deep.equal(["it can't be read to its end (Invalid EOF.)"])
      },
    )
  })

  it('that is encrypted is read with its key alone, and tells every flipped byte', async () => {
    const { identity, recipient } = await keyFile()
    await write([recipient])
    expect((await readFile(file)).includes('database/')).to.equal(false)
    expect(await read(identity)).to.deep.equal(PARTS)
    expect(await faultsOf()).to.match(/^ToolError: .*is encrypted; name its key file/)
    expect(await faultsOf((await keyFile('other')).identity)).to.match(/^ToolError: no key of .*other/)
    const bytes = await readFile(file)
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 1 }), async (at) => {
            await writeFile(file, bytes.with(at, (bytes[at] ?? 0) ^ 1))
            expect(await faultsOf(identity), `byte ${at} of ${bytes.length}`).to.have.length.greaterThan(0)
          }),
          { numRuns: runs(100) },
        ),
      async () => {
        await writeFile(file, bytes)
        await truncate(file, bytes.length - 1)
        expect(await faultsOf(identity)).to.have.length(1)
      },
    )
  })

  it('with a header for 20,000 recipients is damaged, and one for 100 is read', async () => {
    const { identity, recipient } = await keyFile()
    const stanza = `-> X25519 ${'A'.repeat(43)}\n${'A'.repeat(43)}\n`
    await writeFile(file, `age-encryption.org/v1\n${stanza.repeat(20_000)}--- ${'A'.repeat(43)}\n`)
    expect(await faultsOf(identity)).to.deep.equal([
      "it can't be read to its end (its header for recipients is longer than 65536 bytes)",
    ])
    const others = Array.from({ length: 99 }, () => recipient)
    file = join(folder, 'b.tar')
    await write([...others, recipient])
    expect(await read(identity)).to.deep.equal(PARTS)
    file = join(folder, 'c.tar')
    await expectRefusal(write([...others, ...others]), 'name at most 100')
  })

  it('that is not encrypted is refused where a key is given', async () => {
    await write()
    expect(await faultsOf((await keyFile()).identity)).to.match(/^ToolError: .*is not encrypted/)
  })

  it('of a later format is refused, and not called damaged', async () => {
    await hostile([text('archive.json', { ...BEGINNING, format: BACKUP.format + 1, program: '9.0.0' })])
    expect(await faultsOf()).to.deep.equal([
      'ToolError: the archive has format 2, but this version reads only 1: use version 9.0.0 or later',
    ])
  })

  it('that somebody made with care for harm is refused, and nothing is written', async () => {
    const part = { header: { name: 'keys/signing.jwk', size: 2, type: 'file' as const }, body: '{}' }
    const cases: Readonly<Record<string, readonly TarEntry[]>> = {
      'no archive has a part': [named('../../evil')],
      'no archive has a part `/etc/passwd`': [named('/etc/passwd')],
      'no archive has a part `keys/../x`': [named('keys/../x')],
      'no archive has a part `schemas/.hidden`': [named('schemas/.hidden')],
      'no archive has a part `schemas/commands/../a`': [named('schemas/commands/../a')],
      'no archive has a part `policies/commands/a`': [named('policies/commands/a')],
      'no archive has a part `other/x`': [named('other/x')],
      'is no plain file': [{ header: { name: 'keys/signing.jwk', size: 0, type: 'symlink', linkname: '/etc/passwd' } }],
      'an entry is no plain file': [{ header: { name: 'keys/signing.jwk', size: 0, type: 'link', linkname: 'x' } }],
      'is there twice': [part, part],
      'is too large': [
        {
          header: { name: 'policies/policy.csv', size: 65 * 1024 * 1024, type: 'file' },
          body: Buffer.alloc(65 * 1024 * 1024),
        },
      ],
      'the manifest is missing': [part],
      'behind the manifest': [text('manifest.json', { ...BEGINNING, ...REST, parts: [] }), part],
      "doesn't name the part `keys/signing.jwk`": [part, text('manifest.json', { ...BEGINNING, ...REST, parts: [] })],
      'the manifest has another shape at `/`': [text('manifest.json', null)],
      'the manifest has another shape at `/database`': [
        text('manifest.json', { ...BEGINNING, ...REST, database: 'x', parts: [] }),
      ],
      'the manifest has another shape at `/needs/0`': [
        text('manifest.json', { ...BEGINNING, ...REST, needs: ['unknown'], parts: [] }),
      ],
      'another shape at `/parts/0/sha256` (`sha256` does not have the form of such a value)': [
        text('manifest.json', { ...BEGINNING, ...REST, parts: [{ name: 'x', bytes: 1, sha256: 'x' }] }),
      ],
      'it has nothing of `database`; it has nothing of `schemas`': [
        text('manifest.json', { ...BEGINNING, ...REST, parts: [] }),
      ],
    }
    for (const [fault, entries] of Object.entries(cases)) {
      await hostile([text('archive.json', BEGINNING), ...entries])
      const directory = join(folder, 'restored')
      const outcome = await restoreArchive({
        archive: { file, identity: undefined },
        directory,
      })
      expect('faults' in outcome && outcome.faults.join('; '), fault).to.include(fault)
      expect(await readdir(folder), fault).to.deep.equal(['a.tar'])
    }
  })

  it('that is whole but no database leaves nothing', async () => {
    await write()
    const directory = join(folder, 'restored')
    const outcome = await restoreArchive({ archive: { file, identity: undefined }, directory })
    expect('faults' in outcome && outcome.faults.join()).to.match(/no whole database/)
    expect(await readdir(folder)).to.deep.equal(['a.tar'])
    await mkdir(directory)
    await restoreArchive({ archive: { file, identity: undefined }, directory })
    expect(await readdir(directory), 'a folder that was there').to.deep.equal([])
  })

  it('with a part that is of no database file leaves nothing', async () => {
    await write([], { ...PARTS, 'database/other': Buffer.from('x') })
    const archive = { file, identity: undefined }
    const outcome = await restoreArchive({ archive, directory: join(folder, 'restored') })
    expect('faults' in outcome && outcome.faults.join()).to.match(/^a copy of this engine has no part `other`/)
    expect(await readdir(folder)).to.deep.equal(['a.tar'])
  })

  async function hostile(entries: readonly TarEntry[]): Promise<void> {
    const tar = await packTar([...entries])
    await writeFile(
      file,
      sealed(
        (async function* () {
          yield tar
        })(),
        BACKUP.command,
      ),
    )
  }
})

function text(name: string, value: unknown): TarEntry {
  const body = Buffer.from(JSON.stringify(value))
  return { header: { name, size: body.length, type: 'file' }, body }
}

function named(name: string): TarEntry {
  return { header: { name, size: 1, type: 'file' }, body: 'x' }
}

describe('the names of parts', () => {
  it('lead to one file of one group, whatever they are', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: ANY_CHARACTER }),
          fc.stringMatching(/^keys\/.*$/),
          fc.stringMatching(/^database\/.*$/),
        ),
        (name) => {
          const place = placeOfPart(name)
          if (!place) return
          expect(`${place.group}/${place.name}`).to.equal(name)
          expect(place.name).to.not.match(/^\.|\.\.|\/\/|^\/|\0/)
          if (place.group !== 'database') expect(place.name).to.not.include('/')
        },
      ),
    )
    expect(placeOfPart('database/12/3')).to.deep.equal({ group: 'database', name: '12/3' })
  })
})
