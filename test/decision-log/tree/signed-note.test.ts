/** Signed texts: the form of C2SP, and what no reader may take. */
import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { leafHash } from '../../../src/decision-log/tree/merkle.ts'
import {
  checkpointText,
  keyText,
  openNote,
  readCheckpoint,
  readKeyText,
  signedNote,
  verifierKey,
} from '../../../src/decision-log/tree/signed-note.ts'
import { runs } from '../../runs.ts'

/** The example of golang.org/x/mod/sumdb/note, which defined the form. */
const NEUMANN = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const TEXT = `If you think cryptography is the answer to your problem,
then you don't know what your problem is.
`
const NOTE = `${TEXT}
— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=
`

describe('a signed note', () => {
  it('of the library that defined the form is verified', () => {
    const key = readKeyText(NEUMANN)
    expect(key && keyText(key)).to.equal(NEUMANN)
    expect(key && openNote(NOTE, key)).to.equal(TEXT)
    expect(key && openNote(NOTE.replace('answer', 'question'), key)).to.equal(undefined)
  })

  it('opens with its key alone, and not after any change', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const key = verifierKey('sallyport/3000/ab', publicKey)
    const text = checkpointText({ origin: key.name, size: 12, root: leafHash('x') })
    const note = signedNote(text, key, privateKey)
    expect(openNote(note, key)).to.equal(text)
    const others = [
      verifierKey('sallyport/3000/ac', publicKey),
      verifierKey(key.name, generateKeyPairSync('ed25519').publicKey),
    ]
    for (const other of others) expect(openNote(note, other)).to.equal(undefined)
    // A line of somebody else is left alone; a second one of the same key isn't.
    expect(openNote(`${note}— witness.example/w1 AAAAAAAA\n`, key)).to.equal(text)
    expect(openNote(`${note}${note.split('\n').at(-2)}\n`, key)).to.equal(undefined)
    fc.assert(
      fc.property(fc.nat({ max: note.length - 2 }), fc.constantFrom('0', 'A', '\n', ' ', '+'), (at, character) => {
        if (note[at] === character) return
        const changed = note.slice(0, at) + character + note.slice(at + 1)
        expect(openNote(changed, key), changed).to.equal(undefined)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('is a checkpoint only in the one form', () => {
    const root = leafHash('x')
    const text = checkpointText({ origin: 'log', size: 12, root })
    expect(readCheckpoint(text)).to.deep.equal({ origin: 'log', size: 12, root })
    const others = [
      text.replace('12', '012'),
      text.replace('12', '-1'),
      text.replace('12', '1e3'),
      text.replace('log', ''),
      text.replace(/=\n$/, '\n'),
      `${text}more\n`,
      'log\n12\n',
      '',
    ]
    for (const other of others) expect(readCheckpoint(other), other).to.equal(undefined)
  })

  it('is of no key whose text was changed', () => {
    for (const other of [NEUMANN.replace('P', 'Q'), NEUMANN.replace('c7', 'c8'), NEUMANN.slice(0, -1), 'x', '']) {
      expect(readKeyText(other), other).to.equal(undefined)
    }
  })
})
