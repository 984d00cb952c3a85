/** Thousands of unknown fields cost no more than the hundred that an answer names. */
import { expect } from 'chai'
import { proposeNew, proposeReplacement, proposeUpdate } from '../../src/decide/permits/propose.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Json, Resource } from '../../src/resources/resource.ts'

const BEFORE = { id: 'a', ownerId: 'alice', title: 'before', createdAt: 'then', updatedAt: 'then' }
const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`u${i}`, 1]))

const SCHEMAS = new URL('../../schemas/', import.meta.url).pathname

async function loadNotes(): Promise<Resource> {
  const notes = (await loadResources(SCHEMAS)).byName.get('notes')
  if (!notes) throw new Error('no resource')
  return notes
}

describe('a body with many unknown fields', () => {
  const writes = (resource: Resource, body: Readonly<Record<string, Json>>) => {
    const all = new Set(resource.fields.keys())
    return {
      create: proposeNew(resource, body, { id: 'a', filled: {}, now: 'now' }),
      replace: proposeReplacement(resource, body, { before: BEFORE, writable: all, readable: all, filled: new Set() }),
      update: proposeUpdate(resource, body, BEFORE),
    }
  }

  it('is proposed with the first hundred of them and every known one, and refused for them', async () => {
    const notes = await loadNotes()
    const body = { ...unknown(8000), title: 'after' }
    for (const [kind, { after, named, faults }] of Object.entries(writes(notes, body))) {
      expect(
        Object.keys(after).filter((name) => !notes.fields.has(name)),
        kind,
      ).to.have.length(100)
      expect(named.has('title'), kind).to.equal(true)
      expect(after.title, kind).to.equal('after')
      expect(faults(), kind).to.have.length.within(1, 200)
    }
  })

  it('has all of them where they are few', async () => {
    const notes = await loadNotes()
    const body = { ownerId: 'alice', ...unknown(50), title: 'after' }
    for (const [kind, { after, faults }] of Object.entries(writes(notes, body))) {
      expect(
        Object.keys(after).filter((name) => !notes.fields.has(name)),
        kind,
      ).to.have.length(50)
      expect(
        faults().filter(({ pointer }) => /^\/u\d/.test(pointer)),
        kind,
      ).to.have.length(50)
    }
  })
})
