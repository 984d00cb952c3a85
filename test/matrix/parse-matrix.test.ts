/** How matrices are read: as spreadsheet programs save them, and strictly. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Diagnostic, formatDiagnostic } from '../../src/base/diagnostic.ts'
import { columnText, type Expectation, expectedText, objectText } from '../../src/tools/matrix/read/expectation.ts'
import { parseMatrix } from '../../src/tools/matrix/read/matrix-file.ts'
import { readMatrices } from '../../src/tools/matrix/read/read-matrices.ts'
import { transitionText } from '../../src/tools/matrix/read/words.ts'
import { removeWithTests } from '../ends-with-tests.ts'

const PLAIN = `method,path,object,body,anonymous,member+auditor,user:alice,note
GET|HEAD,/notes/{id},own,,-,200 public,200,
PATCH,/notes/{id},owner+draft,b.json,401,403,-,"who, ""me""?"
GET,/notes,none,,401,200 [own],200 [all],
`

describe('reading a matrix', () => {
  it('a cell is an expectation for each method of its row', () => {
    expect(summary(PLAIN)).to.deep.equal([
      'm.csv:2:29 GET /notes/{id} own as auditor+member: 200 public',
      'm.csv:2:40 GET /notes/{id} own as user:alice: 200',
      'm.csv:2:29 HEAD /notes/{id} own as auditor+member: 200 public',
      'm.csv:2:40 HEAD /notes/{id} own as user:alice: 200',
      'm.csv:3:38 PATCH /notes/{id} draft+owner as anonymous: 401, bodies/b.json (who, "me"?)',
      'm.csv:3:42 PATCH /notes/{id} draft+owner as auditor+member: 403, bodies/b.json (who, "me"?)',
      'm.csv:4:18 GET /notes none as anonymous: 401',
      'm.csv:4:22 GET /notes none as auditor+member: 200 [own]',
      'm.csv:4:32 GET /notes none as user:alice: 200 [all]',
    ])
  })

  it('a contradiction names the first cell that states otherwise, however many rows state the same', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `GET,/notes,none,${i === 1 ? '404' : '403'}\n`).join('')
    const faults = (await reading(`method,path,object,member\n${rows}`)).split('\n')
    expect(faults[0]).to.match(/m\.csv:3:17: .*states `404` .*m\.csv:2:17 states `403`/)
    expect(faults[1]).to.match(/m\.csv:4:17: .*states `403` .*m\.csv:3:17 states `404`/)
  })

  it('it is the same with ; between cells, a byte order mark, CRLF or lone CR, quotes around every cell, empty rows and columns', () => {
    const plain = meaning(PLAIN)
    const quoted = PLAIN.replace('"who, ""me""?"', 'x').replaceAll(/[^,\n]+/g, '"$&"')
    expect(meaning(PLAIN.replaceAll(',', ';').replace('who;', 'who,'))).to.deep.equal(plain)
    expect(meaning(`\uFEFF${PLAIN.replaceAll('\n', '\r\n')}`)).to.deep.equal(plain)
    expect(meaning(PLAIN.replaceAll('\n', '\r'))).to.deep.equal(plain)
    expect(meaning(quoted)).to.deep.equal(meaning(PLAIN.replace('"who, ""me""?"', 'x')))
    expect(meaning(`${PLAIN.replaceAll('\n', ',,\n')},,,,,,,,,\n,,\n\n`)).to.deep.equal(plain)
    expect(
      meaning(PLAIN.replace('method,path,object', 'Method, PATH ,Object').replace('anonymous', 'Anonymous')),
    ).to.deep.equal(plain)
  })

  it('a place counts lines of a cell that runs over several', () => {
    const text = 'method,path,object,note,member\nGET,/a,none,"two\nlines",200\nGET,/b,none,,teapot\n'
    expect(summary(text)).to.deep.equal(['m.csv:3:8 GET /a none as member: 200 (two lines)'])
    expect(faults(text)).to.deep.equal([
      'm.csv:4:14: the cell `teapot` is not an answer (write a status as in 403, 200 public, 200 [own] or 200 [all], or - to state nothing) [matrix-cell]',
    ])
  })

  it('a row with an event says what happens, and its cells what the caller is told', () => {
    const text = [
      'method,path,object,event,becomes,body,member,admin',
      'GET,/notes/events,none,created,owner,,200 appeared public,403',
      'GET,/notes/events,own,Changed,draft>other,,200 Nothing,-',
      'GET,/notes/events,own,changed,,b.json,200 changed,200 gone',
      'GET,/notes/events,other,deleted,,,401,200 reset',
    ]
    expect(faults(text.toSpliced(2, 1).join('\n'))).to.deep.equal([])
    expect(faults(text.join('\n'))).to.deep.equal([
      "m.csv:3:31: `draft` doesn't hold before the write: the object is `own` (add it to the column object, or name another relation left of >) [matrix-becomes]",
    ])
    const stated = parse(text.toSpliced(2, 1).join('\n'))
    expect(stated.map((one) => `${one.event} ${transitionText(one)} ${expectedText(one.expected)}`)).to.deep.equal([
      'created own 200 appeared public',
      'created own 403',
      'changed  200 changed',
      'changed  200 gone',
      'deleted  401',
      'deleted  200 reset',
    ])
  })

  it('a row with an event that can not happen, or whose cell leaves the event open, is refused', () => {
    const text = [
      'method,path,object,event,becomes,body,member',
      'GET,/a,none,moved,,,403',
      'GET|HEAD,/a,none,created,owner,,403',
      'GET,/a,own,created,owner,,403',
      'GET,/a,none,deleted,,,403',
      'GET,/a,missing,changed,,b.json,403',
      'GET,/a,none,created,,,403',
      'GET,/a,own,changed,,,403',
      'GET,/a,own,deleted,owner>other,,403',
      'GET,/a,own,deleted,,,200',
      'GET,/a,own,deleted,,,403 gone',
      'GET,/a,own,deleted,,,200 gone public',
      'GET,/a,own,deleted,,,200 public',
    ]
    expect(faults(text.join('\n')).map((line) => line.replace(/^m\.csv:(\d+):\d+: (.*?) \(.*/, '$1 $2'))).to.deep.equal(
      [
        '2 `moved` is not what can happen to an object',
        '3 only GET follows events',
        '4 an object that is created had no relations before',
        "5 `none` can't be deleted",
        "6 a missing object can't be changed",
        "7 the row doesn't say what is created",
        "8 the row doesn't say what changes",
        '9 a deleted object becomes nothing',
        "10 the cell `200` doesn't say what the caller is told",
        '11 an answer 403 tells no events',
        '12 `gone` shows no fields',
        "13 the cell `200 public` doesn't say what the caller is told",
      ],
    )
  })

  it('everything that is wrong is told at once', () => {
    const text = [
      'method,path,object,body,member,auditor+member,member+auditor,everyone,',
      'GRAB,/a,none,,200,200,200,-,',
      'GET|GET,/a,none,,200,200,200,-,',
      'GET,a,none,../x.json,,2000,200,200 [own+],stray',
      'GET,/a,own+,,200,200',
    ].join('\n')
    expect(faults(text).map((line) => line.replace(/ \(.*/, ''))).to.deep.equal(
      [
        'm.csv:1:47: the column `member+auditor` occurs twice',
        'm.csv:2:1: `GRAB` is not a method',
        'm.csv:3:1: the method `GET` occurs twice',
        'm.csv:4:43: the cell `stray` is in a column without a head',
        'm.csv:4:5: `a` is not a path',
        'm.csv:4:12: `../x.json` is not the name of a body file',
        'm.csv:4:22: the cell is empty',
        'm.csv:4:23: the cell `2000` is not an answer',
        'm.csv:4:32: `[own+]` does not say which rows a list holds',
        'm.csv:5:8: `own+` is not an object',
        'm.csv:5:21: the cell is empty',
      ].toSorted(byLineAndColumn),
    )
  })

  it('what no answer can show is a fault of its cell: a list or a view beside a status that has none', () => {
    const cells = ['401 [all]', '403 progress', '404 [own]', '204 progress', '201 [all]', '201 progress', '200 [all]']
    const text = `method,path,object,member\n${cells.map((cell) => `GET,/a,none,${cell}\n`).join('')}`
    expect(faults(text)).to.have.length(5)
    expect(faults(text)[0]).to.equal(
      'm.csv:2:13: `401 [all]` is impossible: an answer 401 has no `[all]` (write 401 alone) [matrix-cell]',
    )
  })

  it('`[own+team&!draft]` says which rows a list holds: `+` adds rows, `&` narrows them', () => {
    const words = {
      '[own]': '[own]',
      '[owner]': '[own]',
      '[ ALL ]': '[all]',
      '[none]': '[none]',
      '[team]': '[team]',
      '[team + own]': '[own+team]',
      '[team&own]': '[owner&team]',
      '[own+team&!draft]': '[own+team&!draft]',
      '[team+team]': '[team]',
      '[!draft & team+!own]': '[!owner+team&!draft]',
    }
    const text = Object.keys(words).map((word) => `GET,/${word.length},none,200 ${word}\n`)
    const read = text.flatMap((row) => parse(`method,path,object,member\n${row}`))
    expect(read.map(({ expected }) => expectedText(expected))).to.deep.equal(
      Object.values(words).map((word) => `200 ${word}`),
    )
    for (const wrong of ['[]', '[own+]', '[&team]', '[team!]', '[a b]', '[all&]', '[!]']) {
      expect(faults(`method,path,object,member\nGET,/a,none,200 ${wrong}\n`), wrong).to.deep.equal([
        `m.csv:2:13: \`${wrong}\` does not say which rows a list holds (write [own], [all], [none], or relations as in [own+team] or [team&!draft]) [matrix-cell]`,
      ])
    }
    expect(faults('method,path,object,member\nGET,/a,none,200 [team&!team]\n')).to.deep.equal([
      "m.csv:2:13: `team` can't hold and not hold (keep one of them) [matrix-cell]",
    ])
  })

  it('`when` names the conditions that hold; `!` names one that does not', () => {
    const cells = ['office+fresh', '!office', 'fresh + !office', '']
    const rows = cells.map((cell) => `GET,/a,none,${cell},200\n`).join('')
    const read = parse(`method,path,object,when,member\n${rows}`)
    expect(read.map(({ when, whenNot }) => [when, whenNot])).to.deep.equal([
      [['fresh', 'office'], undefined],
      [undefined, ['office']],
      [['fresh'], ['office']],
      [undefined, undefined],
    ])
    expect(faults('method,path,object,when,member\nGET,/a,none,office+,200\nGET,/a,none,a+!a,200\n')).to.deep.equal([
      'm.csv:2:13: `office+` is not a list of conditions (write conditions as in office+fresh or !office) [matrix-when]',
      "m.csv:3:13: `a` can't hold and not hold (keep one of them) [matrix-when]",
    ])
  })

  it('`becomes` names the relations that end and begin; the others stay', () => {
    const rows: readonly (readonly [string, string, string, readonly string[], string])[] = [
      ['PATCH', 'owner+draft', 'draft>placed', ['owner', 'placed'], 'draft>placed'],
      ['PUT', 'owner+draft', 'draft+owner>owner+placed', ['owner', 'placed'], 'draft>placed'],
      ['PUT', 'own', 'own>other', [], 'own>other'],
      ['PATCH', 'other', 'other > mine', ['mine'], 'other>mine'],
      ['PUT', 'owner+draft', 'draft>draft', ['draft', 'owner'], 'draft+owner>draft+owner'],
      ['POST', 'none', 'owner+draft', ['draft', 'owner'], 'draft+owner'],
      ['POST', 'none', 'other', [], 'other'],
    ]
    const text = rows.map(([method, object, becomes]) => `${method},/a,${object},${becomes},200\n`).join('')
    const read = parse(`method,path,object,becomes,member\n${text}`)
    expect(read.map(({ becomes }) => becomes)).to.deep.equal(rows.map(([, , , becomes]) => becomes))
    expect(read.map(transitionText)).to.deep.equal(rows.map(([, , , , written]) => written))
  })

  it('a transition that its row does not fit is a fault of its cell', () => {
    const rows = [
      'PATCH,/a,own,,draft>placed',
      'PATCH,/a,own,,placed',
      'PATCH,/a,own,,own>a>b',
      'PATCH,/a,own,,own>none',
      'GET|PUT,/a,own,,own>other',
      'PUT,/a,missing,,other>own',
      'PUT,/a,own,b.json,own>other',
      'POST,/a,none,,>own',
    ]
    const text = `method,path,object,body,becomes,member\n${rows.map((row) => `${row},200\n`).join('')}`
    expect(faults(text)).to.deep.equal([
      "m.csv:2:15: `draft` doesn't hold before the write: the object is `own` (add it to the column object, or name another relation left of >) [matrix-becomes]",
      'm.csv:3:15: `placed` is not a change of relations (write draft>placed, other>owner or owner>other) [matrix-becomes]',
      'm.csv:4:15: `own>a>b` is not a change of relations (write draft>placed, other>owner or owner>other) [matrix-becomes]',
      'm.csv:5:15: `none` is not a set of relations (write other, own, or relations as in owner+draft) [matrix-becomes]',
      'm.csv:6:17: GET leaves no object to describe (empty the cell) [matrix-becomes]',
      'm.csv:7:17: a missing object becomes nothing (empty the cell) [matrix-becomes]',
      'm.csv:8:19: the body file decides what the object becomes (empty this cell or the cell in the column body) [matrix-becomes]',
      'm.csv:9:15: a new object has no relations before (write its relations, as in owner+draft) [matrix-becomes]',
    ])
  })

  it('cells with other conditions or another result are about other requests', async () => {
    const head = 'method,path,object,when,becomes,member\n'
    const same = `${head}PUT,/a,own,,own>own,200\nPUT,/a,own,!office,own>own,403\n`
    expect(await reading(same)).to.match(/3:28: this cell states `403` for PUT as `member`, but [^\n]*2:21 states/)
    const other = `${head}PUT,/a,own,,own>own,200\nPUT,/a,own,office,own>own,403\nPUT,/a,own,,own>other,403\n`
    expect(await reading(other)).to.equal('3 expectations')
  })

  it('a file without rows, without a head, or with broken quotes says so', () => {
    expect(faults('')[0]).to.match(/^m.csv:1:1: the first row lacks `method`, `path`, `object`/)
    expect(faults('path;object;member\n')[0]).to.match(/^m.csv:1:1: the first row lacks `method`/)
    expect(faults('method,path,object,member\nGET,/a,"none,200\n')[0]).to.match(/^m.csv:2:8: the quotes in this row/)
    expect(faults('method,path,object,member\n\r\nGET"')[0]).to.match(/^m.csv:3:4: the quotes in this row/)
    expect(faults('method,path,object,user:\n')[0]).to.match(/^m.csv:1:20: the column `user:` names nobody/)
    expect(faults('method,path,object,anonymous+member\n')[0]).to.match(
      /^m.csv:1:20: the column `anonymous\+member` is not a caller/,
    )
  })

  it('two cells that say different things about one request are told; two that agree are not', async () => {
    const rows = 'method,path,object,member\nGET,/a,own,200\nGET|HEAD,/a,owner,'
    expect(await reading(`${rows}403\n`)).to.match(
      /3:19: this cell states `403` for GET as `member`, but [^\n]*2:12 states `200` \(keep one of them\)/,
    )
    expect(await reading(`${rows}200\n`)).to.equal('3 expectations')
    const list = 'method,path,object,member\nGET,/a,none,200\nGET,/a,none,200 [own]\nGET,/a,none,200 public\n'
    expect(await reading(list)).to.equal('3 expectations')
    expect(await reading(`${list}GET,/a,none,200 [all]\n`)).to.match(
      /5:13: this cell states `200 \[all\]` [^\n]*3:13 states/,
    )
    expect(await reading(`${list}GET,/a,none,200 short\n`)).to.match(
      /5:13: this cell states `200 short` [^\n]*4:13 states/,
    )
  })

  it('a file that is not UTF-8 says how to save it', async () => {
    expect(await reading(Buffer.from('method,path,object,note\nGET,/a,none,gr\xfc\xdfe\n', 'latin1'))).to.match(
      /save it as CSV UTF-8/,
    )
  })

  it('whatever a file holds, reading ends with expectations or diagnostics in it', () => {
    const cell = fc.constantFrom(
      'GET',
      'GET|PUT',
      '/a',
      'own',
      '200',
      '200 x',
      '-',
      '"',
      ',',
      ';',
      '\n',
      '\r',
      'ü',
      ' ',
      'member',
    )
    fc.assert(
      fc.property(fc.array(cell), (cells) => {
        const text = `method,path,object,member\n${cells.join('')}`
        const lines = text.split(/\r\n|\n|\r/).length
        for (const { line, column } of diagnosticsOf(text)) {
          expect(line).to.be.within(1, lines)
          expect(column).to.be.at.least(1)
        }
      }),
    )
  })
})

function diagnosticsOf(text: string): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  parseMatrix({ name: 'm.csv', text }, (one) => diagnostics.push(one))
  return diagnostics
}

function faults(text: string): readonly string[] {
  return diagnosticsOf(text).map(formatDiagnostic).toSorted(byLineAndColumn)
}

function byLineAndColumn(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

function parse(text: string): readonly Expectation[] {
  return parseMatrix({ name: 'm.csv', text }, () => {})
}

function meaning(text: string): readonly unknown[] {
  return parse(text).map(({ place: _, ...rest }) => rest)
}

function summary(text: string): readonly string[] {
  return parse(text).map(({ place, method, path, object, column, body, note, expected }) => {
    const where = `${place.file}:${place.line}:${place.column}`
    const more = `${body ? `, ${body}` : ''}${note ? ` (${note})` : ''}`
    return `${where} ${method} ${path} ${objectText(object)} as ${columnText(column)}: ${expectedText(expected)}${more}`
  })
}

/** What the reader says of a file on disk. */
async function reading(content: string | Buffer): Promise<string> {
  const file = join(removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-matrix-'))), 'm.csv')
  writeFileSync(file, content)
  return readMatrices([file]).then(
    (found) => `${found.length} expectations`,
    (error: Error) => error.message,
  )
}
