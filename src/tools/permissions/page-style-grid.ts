/** The look of the grid: tiles whose text and pattern say what their colour says. Plain CSS. */

export const GRID_STYLE = `
.scroll { flex: 1; min-width: 0; overflow: auto }
table { border-collapse: separate; border-spacing: 0; font-size: 12.5px }
.one td { width: 150px }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
th { font-weight: 400; text-align: left; background: var(--card) }
thead th { position: sticky; top: 0; z-index: 2; height: 38px; padding: 8px 10px; border-bottom: 1px solid var(--line); font-weight: 600; text-align: center; vertical-align: bottom }
thead th > span { display: inline-block; max-width: 150px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; unicode-bidi: isolate }
.corner, tr.row > th { position: sticky; left: 0; z-index: 1; padding: 0 14px 0 20px; border-right: 1px solid var(--line); text-align: left }
thead th.corner { z-index: 3; padding-bottom: 8px; font-weight: 400; color: var(--quiet) }
.lead { display: grid; grid-template-columns: 66px calc(var(--path) * 7.6px + 14px) minmax(84px, auto); align-items: center; white-space: nowrap }
.lead > * { overflow: hidden; text-overflow: ellipsis }
tr.row .m { font: 600 11px var(--mono); color: var(--quiet) }
tr.row .p { font: 12.5px var(--mono) }
tr.again .p { color: var(--quiet) }
tr.row .r { justify-self: start; max-width: 190px; padding: 0 7px; border-radius: 9px; background: var(--chip); font-size: 11.5px; line-height: 18px }
.group th { padding: 14px 0 4px; border-bottom: 1px solid var(--line) }
.group span { position: sticky; left: 20px; font-weight: 700; font-size: 13.5px }

td {
  min-width: 84px; height: 29px; width: 128px; padding: 0 8px; text-align: center; cursor: pointer; white-space: nowrap;
  border: 1.5px solid transparent; border-radius: 6px; background-clip: padding-box; scroll-margin: 2px;
}
td.all, .key.all, .fields.granted li { background-color: var(--all); color: var(--all-text) }
td.all, .key.all { font-weight: 600 }
td.some, .key.some {
  color: var(--some-text); background-color: var(--some);
  background-image: repeating-linear-gradient(135deg, transparent 0 5px, var(--some-hatch) 5px 7px);
}
td.some { text-shadow: 0 0 3px var(--some), 0 0 3px var(--some), 0 0 2px var(--some) }
td.no, .key.no, .fields.refused li { background-color: var(--no); color: var(--no-text) }
td:hover { border-color: var(--quiet) }
td:focus-visible, td.open { outline: 2px solid var(--focus); outline-offset: -2px }
tr.row:hover > th, table:focus-within th.here, .reading th.here { background: color-mix(in srgb, var(--focus) 12%, var(--card)) }
table[data-outcome=allowed] td.no, table[data-outcome=all] td:not(.all), table[data-outcome=some] td:not(.some),
table[data-outcome=no] td:not(.no) { opacity: .22 }
.lines td[data-lines]::after { content: attr(data-lines); display: block; font: 400 10px/1.1 var(--mono); opacity: .85; text-shadow: none }

.many thead th:not(.corner) { padding: 10px 4px 8px }
.many thead th:not(.corner) > span { writing-mode: vertical-rl; rotate: 180deg; max-width: none; max-height: 150px }
.many td { padding: 0 3px; line-height: 26px; overflow: hidden; text-overflow: ellipsis; font-size: 11.5px }

@media screen {
  /* Tens of thousands of cells: rows out of sight are neither laid out nor painted. */
  .many, .many tbody { display: block; width: max-content }
  .many tr { display: flex }
  .many tr.row { content-visibility: auto; contain-intrinsic-height: 29px }
  .many th:first-child { display: flex; align-items: center; flex: none; width: calc(240px + var(--path) * 7.6px) }
  .many .group th { width: 100% }
  .many td, .many thead th:not(.corner) { flex: none; width: 46px; min-width: 0 }
  .many thead { display: block; position: sticky; top: 0; z-index: 2 }
  .many thead th, .many thead .corner { display: flex; align-items: end; height: auto }
  .many.one td, .many.one thead th:not(.corner) { width: 150px }
  .many.one thead th:not(.corner) > span { writing-mode: horizontal-tb; rotate: none; max-width: 140px }
  .many thead th:not(.corner) { justify-content: center }
}
@media (max-width: 800px) {
  .lead { grid-template: 'method relation' 'path path' / 66px minmax(60px, auto) }
  .m { grid-area: method }
  .p { grid-area: path }
  .r { grid-area: relation }
  .corner .p { display: none }
  .corner, tr.row > th { max-width: 190px; padding: 4px 8px 4px 12px }
  .group span { left: 12px }
}
@media print {
  .scroll { overflow: visible }
  table { font-size: 7.5pt }
  table:not(.many, .one) { min-width: min(100%, 90mm + var(--callers) * 26mm) }
  thead { display: table-header-group }
  thead th, .corner, tr.row > th { position: static }
  thead th { height: auto; padding: 1mm }
  tr { break-inside: avoid }
  .group { break-after: avoid }
  .group th { padding: 2mm 0 1mm }
  .group span { position: static; font-size: 9pt }
  .corner, tr.row > th { padding: 0 2mm 0 0 }
  .lead { grid-template: none / 15mm calc(var(--path) * 4.6pt + 2mm) minmax(20mm, auto) }
  .lead > * { grid-area: auto }
  tr.row .m { font-size: 6.5pt }
  tr.row .p { font-size: 7.5pt }
  tr.row .r { font-size: 7pt; line-height: 1.5 }
  td { min-width: 0; height: 5mm; padding: 0 1mm; border-width: .4pt }
  td[data-lines]::after { content: attr(data-lines); display: block; font: 400 5.5pt/1.2 var(--mono); text-shadow: none; white-space: normal }
  td:focus-visible, td.open { outline: 0 }
  tr.row > th, thead th { background: none !important }
}
`
