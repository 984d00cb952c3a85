/** The presentation kit: markup escapes its values, columns align wide characters, and colours come from the kit alone. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { coloured } from '../../src/present/colour.ts'
import { html } from '../../src/present/html.ts'
import { pageText } from '../../src/present/page.ts'
import { printable } from '../../src/present/quote.ts'
import { table, wrap } from '../../src/present/text.ts'

const HOSTILE = `"><script>alert('x')</script>&`

describe('the presentation kit', () => {
  it('escapes each value of markup, in text, in attributes and in lists', () => {
    const cells = [HOSTILE, 'b'].map((text) => html`<td title="${text}">${text}</td>`)
    const { text } = html`<tr>${cells}</tr>`
    expect(text).to.not.include('<script>').and.not.include(`'x'`)
    expect(text.match(/&quot;&gt;&lt;script&gt;/g)).to.have.length(2)
    expect(text).to.include('<td title="b">b</td></tr>')
    expect(html`${undefined}${false}${0}`.text).to.equal('0')
  })

  it('makes pages whose policy names their own style and script, and no other', () => {
    const page = pageText({
      title: HOSTILE,
      heading: HOSTILE,
      layout: 'grid',
      about: html``,
      legend: [],
      script: { file: 'access-matrix.js', data: { name: HOSTILE } },
      main: html``,
    })
    const hash = (text = '') => `sha256-${createHash('sha256').update(text).digest('base64')}`
    expect(page).to.include(`style-src '${hash(/<style>(.*?)<\/style>/s.exec(page)?.[1])}'`)
    expect(page).to.include(`script-src '${hash(/<script type="module">(.*?)<\/script>/s.exec(page)?.[1])}'`)
    expect(page.match(/<script/g)).to.have.length(2)
  })

  it('shows characters that nobody sees by their numbers, and letters of every script as they are', () => {
    expect(printable('a\u202eb\u00a0c\u001b\u3164\ufe0f\u200d')).to.equal(
      'a\\u{202e}b\\u{a0}c\\u{1b}\\u{3164}\\u{fe0f}\\u{200d}',
    )
    expect(printable('हिन्दी, ไทย, e\u0301 李')).to.equal('हिन्दी, ไทย, e\u0301 李')
  })

  it('aligns columns by the places that characters take', () => {
    expect(
      table(
        [
          ['name', 'n'],
          ['李', '10'],
          ['ada', '2'],
        ],
        1,
      ),
    ).to.deep.equal(['name   n', '李    10', 'ada    2'])
    expect(wrap('a'.repeat(60).concat(' ', '李'.repeat(20)))).to.have.length(2)
  })

  it('colours words of its own, and leaves what is escaped as it is', () => {
    const { FORCE_COLOR } = process.env
    process.env.FORCE_COLOR = '1'
    try {
      expect(coloured('DENY  x', process.stdout)).to.include('\u001b[31mDENY\u001b[39m')
      expect(coloured('a \\u001b[31mDENY', process.stdout)).to.equal('a \\u001b[31mDENY')
    } finally {
      if (FORCE_COLOR === undefined) delete process.env.FORCE_COLOR
      else process.env.FORCE_COLOR = FORCE_COLOR
    }
  })
})
