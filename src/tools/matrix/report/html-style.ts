/** The look of a run's page, on top of what all pages share. Plain CSS. */

export const RUN_STYLE = `
html, body { height: auto }
main { display: block; padding: 8px 20px 28px }
h2 { margin: 22px 0 8px; font-size: 16px; overflow-wrap: anywhere }
.check { display: inline-flex; gap: 6px; align-items: center; padding: 6px 0 }
body:has(#red:checked) .row:not(.bad) { display: none }
.remark { padding: 8px 12px; border-left: 4px solid var(--some-text); background: var(--some); color: var(--some-text); overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { border-collapse: separate; border-spacing: 2px; font-size: 12.5px }
th { padding: 3px 12px 3px 0; text-align: left; font-weight: 500 }
thead th { font-weight: 600; white-space: nowrap; background: var(--card) }
tbody th code { white-space: nowrap }
td { min-width: 76px; padding: 3px 8px; border-radius: 5px; text-align: center; white-space: nowrap }
td.line { min-width: 0; color: var(--quiet); text-align: right; font-family: var(--mono) }
td.object { text-align: left }
.green { background: var(--all); color: var(--all-text) }
.red { background: var(--no); color: var(--no-text); font-weight: 700; box-shadow: inset 0 0 0 1.5px currentColor }
.gray { background: var(--some); color: var(--some-text); font-weight: 600 }
.none { color: var(--quiet) }
.key { white-space: nowrap }
td a, .cases a { color: inherit }
td a { display: block; margin: -3px -8px; padding: 3px 8px; border-radius: 5px }
.cases { margin: 0; padding: 0; list-style: none; line-height: 2 }
h1.bad { color: var(--no-text) }
.cause { margin: 14px 0; padding: 10px 16px; border: 1px solid var(--line); border-left: 4px solid var(--no-text); border-radius: 6px }
.cause.untried { border-left-color: var(--some-text) }
.cause h2 { margin: 2px 0 6px }
summary { padding: 2px 0; cursor: pointer; overflow-wrap: anywhere }
details article { padding: 4px 0 10px 16px }
article:target { outline: 2px solid var(--focus) }
h3 { margin: 0 0 2px; font-size: 14px; overflow-wrap: anywhere }
h4 { margin: 10px 0 4px; font-size: 12px; color: var(--quiet) }
article p { margin: 4px 0; overflow-wrap: anywhere }
.why { font-weight: 600 }
.exchange { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 16px }
pre { margin: 0; padding: 8px 10px; border-radius: 6px; background: var(--chip); font: 12px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere }
@media (max-width: 800px) { .exchange { grid-template-columns: 1fr } }
@media print {
  .check { display: none }
  .wide { overflow: visible }
  table { font-size: 7.5pt }
  tr, article { break-inside: avoid }
  td { padding: .4mm 1mm; min-width: 0 }
  article { padding: 2mm 3mm }
  pre { font-size: 7pt; background: none; border: .3pt solid var(--line) }
}
`
