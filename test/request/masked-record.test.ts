/** A write counts as the record that it was committed with, also where masks hide what tells two records apart. */
import { expect } from 'chai'
import { createWrites } from '../../src/server/answers/record.ts'
import type { RequestState, Writable } from '../../src/server/stages/state.ts'
import type { Store } from '../../src/store/contract.ts'

describe('the record of a write', () => {
  it('is the one with the line that was committed', () => {
    const masks = { fields: new Set(['objectId']), facts: new Map() }
    const state = { masks, time: '2026-01-01T00:00:00.000Z', started: Number.NaN } as unknown as Writable<RequestState>
    const writes = createWrites({} as Store, state)
    const [first, last] = ['first', 'last'].map((objectId) => writes.record({ outcome: { objectId } } as never))
    expect(first).to.include('***').and.not.include('first')
    writes.committed(last as never)
    expect(state.committed?.unmasked).to.include({ objectId: 'last' })
    writes.committed(first as never)
    expect(state.committed?.unmasked).to.include({ objectId: 'first' })
  })
})
