/** The few SVG elements that plots are made of. Colours follow the reader's scheme, light or dark. */

/** Series, in order. Chosen to be told apart by people who see few colours, on white and on near-black. */
const LIGHT = ['#0f62a8', '#c2571a', '#3d7a2a', '#8a3fa0', '#00797a']
const DARK = ['#6cb6f5', '#f2a065', '#8fce79', '#d19ae3', '#5fd0cf']

const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #24292f }
.quiet { fill: #57606a }
.title { font-weight: 600; font-size: 14px }
.grid { stroke: #d0d7de }
.bound { stroke: #b42318; stroke-dasharray: 5 4; stroke-width: 1.5 }
.boundText { fill: #b42318 }
.spread { stroke: #24292f; stroke-width: 1.2 }
${rules(LIGHT)}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .quiet { fill: #9198a1 } .grid { stroke: #3d444d }
.bound { stroke: #ff8b80 } .boundText { fill: #ff8b80 } .spread { stroke: #e6edf3 }
${rules(DARK)}
}`

/** Marks are filled, lines are drawn. */
function rules(colours: readonly string[]): string {
  const rule = (colour: string, i: number) =>
    `.series${i} { fill: ${colour} }\n.line${i} { stroke: ${colour}; stroke-width: 2 }`
  return colours.map(rule).join('\n')
}

/** In pixels; no less than what any usual sans-serif font of this size takes for such words. */
export function widthOf(content: string): number {
  return content.length * 7.4
}

interface TextOptions {
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly style?: string
}

export function text(
  x: number,
  y: number,
  content: string,
  { anchor = 'start', style = '' }: TextOptions = {},
): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" class="${style}">${escaped(content)}</text>`
}

export function line(from: readonly [number, number], to: readonly [number, number], style: string): string {
  const [x1, y1, x2, y2] = [...from, ...to].map(round)
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" class="${style}"/>`
}

export function bar(x: number, y: number, width: number, height: number, series: number): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" class="series${series}"/>`
}

export function dot(x: number, y: number, series: number): string {
  return `<circle cx="${round(x)}" cy="${round(y)}" r="4.5" class="series${series}"/>`
}

/** `title` is what a screen reader says. */
export function svg(width: number, height: number, title: string, elements: readonly string[]): string {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`
  return [open, `<title>${escaped(title)}</title>`, `<style>${STYLE}</style>`, ...elements, '</svg>', ''].join('\n')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(content: string): string {
  return content.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}
