/** `access report` for many people and objects takes seconds or minutes, and at most 500 MB. */
import { join } from 'node:path'
import { expect } from 'chai'
import { ENGINES } from '../data/each-engine.ts'
import { measure } from '../measure.ts'
import { soak, times } from '../runs.ts'
import { fillProjects, fillShop, type WorldSize } from './large-worlds.ts'

/** What docs/access.md promises of 10,000 people and a million objects; SOAK_TIMES=4 tries it with the shop's. */
const MOST_MS = 300_000
/** For a quarter of the objects: some 250, and more if all of them were held. */
const MOST_MEGABYTES = times(1) < 4 ? 350 : 500
const SMALL: WorldSize = { people: 300, objects: 10_000 }
const FULL = soak({ people: times(2500), objects: times(250_000) }, SMALL)
const MIDDLING = soak({ people: 1000, objects: 50_000 }, SMALL)
/** Some ten times as long as it takes on an idle machine. Counted in the database for each person apart, projects take longer. */
const MOST_MS_OF_SMALL = 45_000

const PROJECTS = join(import.meta.dirname, '../../examples/projects')

interface LargeWorld {
  readonly fill: typeof fillShop
  /** By engine. */
  readonly size: Readonly<Record<string, WorldSize>>
  /** The settings, if the files aren't the shipped ones. */
  readonly files: Readonly<Record<string, string>>
}

const WORLDS: Readonly<Record<string, LargeWorld>> = {
  'the shipped schemas': {
    fill: fillShop,
    size: { SQLite: FULL, PostgreSQL: FULL },
    files: {},
  },
  'examples/projects': {
    fill: fillProjects,
    size: { SQLite: MIDDLING, PostgreSQL: MIDDLING },
    files: { POLICIES: join(PROJECTS, 'policies'), SCHEMAS: join(PROJECTS, 'schemas') },
  },
}

for (const [engine, onEngine] of ENGINES) {
  for (const [world, { fill, size: sizes, files }] of Object.entries(WORLDS)) {
    const size = sizes[engine] ?? SMALL
    const { people, objects } = size
    const most = size === SMALL ? MOST_MS_OF_SMALL : MOST_MS
    describe(`access report for ${people} people and ${objects} objects of ${world} on ${engine}`, () => {
      it(`takes at most ${most / 1000} s and ${MOST_MEGABYTES} MB`, async function () {
        this.timeout(soak(1_800_000, 120_000))
        const on = await onEngine({ uncheckedBecause: 'only commands ask', env: { ...files } })
        try {
          await fill(on.server.app.seeding, size)
          const { lines, milliseconds, megabytes } = await measure(['access', 'report'], { ...on.env, ...files })
          expect(lines).to.be.greaterThan(5 * people)
          const figures = `${Math.round(milliseconds)} ms, ${Math.round(megabytes)} MB`
          expect(milliseconds, figures).to.be.at.most(most)
          expect(megabytes, figures).to.be.at.most(MOST_MEGABYTES)
        } finally {
          await on.stop()
        }
      })
    })
  }
}
