/** The console looks as the pages that commands write: their stylesheet has all colours, and the console adds none. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ROOT } from '../command.ts'

const CONSOLE = join(ROOT, 'packages/console/src')
const PAGE = readFileSync(join(ROOT, 'src/present/browser/page.css'), 'utf8')
const STYLE = readFileSync(join(CONSOLE, 'console.css'), 'utf8')

const SOURCES = readdirSync(CONSOLE, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(?:css|tsx?)$/.test(name))
  .map((name) => readFileSync(join(CONSOLE, name), 'utf8'))

function coloursIn(css: string): readonly string[] {
  return css.match(/#[0-9a-f]{3,8}\b(?=[^{}]*;)|\b(?:rgba?|hsla?|oklch|light-dark)\(/gi) ?? []
}

function unknownIn(text: string): readonly string[] {
  const names = [...text.matchAll(/var\((--[\w-]+)\)/g)].map(([, name = '']) => name)
  return names.filter((name) => !new RegExp(`^ *${name}:`, 'm').test(PAGE))
}

describe('the look of the console', () => {
  it('has the colours of page.css, and no other', () => {
    expect(STYLE).to.match(/^@import ".*\/present\/browser\/page\.css";$/m)
    expect(coloursIn(STYLE)).to.deep.equal([])
    expect(SOURCES.flatMap(unknownIn)).to.deep.equal([])
  })

  it('with another colour would be found', () => {
    expect(coloursIn(PAGE).length).to.be.greaterThan(40)
    expect(coloursIn('a { color: #a8201a; }')).to.deep.equal(['#a8201a'])
    expect(coloursIn('#console { color: rgb(1 2 3); }')).to.deep.equal(['rgb('])
    expect(unknownIn('a { color: var(--nothing) }')).to.deep.equal(['--nothing'])
  })
})
