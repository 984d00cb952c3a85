/** The page's colours, and everything around the grid. Plain CSS. */

export const LAYOUT_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1b2330; --quiet: #596475; --line: #dde1e8; --focus: #1d5fe0;
  --all: #c3e9cf; --all-text: #0c4a2b; --some: #fde7b0; --some-hatch: #f7d27e; --some-text: #5f3c00;
  --no: #fbe6e4; --no-text: #a3342f; --chip: #eaeef5; --shade: rgb(20 30 50 / 16%);
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1218; --card: #161c25; --text: #e6eaf1; --quiet: #9aa6b8; --line: #2a3341; --focus: #7fb0ff;
    --all: #17472e; --all-text: #b5f0cb; --some: #4d3908; --some-hatch: #604a12; --some-text: #ffe19a;
    --no: #34191b; --no-text: #f5a7a1; --chip: #253042; --shade: rgb(0 0 0 / 60%);
  }
}
* { box-sizing: border-box }
[hidden] { display: none !important }
html, body { height: 100%; margin: 0 }
body {
  display: flex; flex-direction: column; background: var(--page); color: var(--text);
  font: 14px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
}
code, kbd, .mono { font-family: var(--mono); font-size: .92em }
header { display: flex; flex-wrap: wrap; gap: 8px 32px; align-items: end; justify-content: space-between; padding: 16px 20px 10px }
h1 { margin: 0; font-size: 20px; letter-spacing: -.01em }
header p { margin: 2px 0 0; color: var(--quiet) }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 0; padding: 0; list-style: none; color: var(--quiet); font-size: 12.5px }
.key { display: inline-block; min-width: 44px; padding: 2px 8px; border-radius: 4px; text-align: center; font-size: 12px }

.filters { display: flex; flex-wrap: wrap; gap: 8px 10px; align-items: center; padding: 0 20px 12px; font-size: 12.5px; color: var(--quiet) }
.filters label { display: inline-flex; align-items: center; gap: 6px }
.filters input[type=search], .filters select, button {
  height: 30px; padding: 0 8px; border: 1px solid var(--line); border-radius: 6px;
  background: var(--card); color: var(--text); font: inherit; max-width: 190px;
}
.search { position: relative }
.filters .search input { width: 225px; max-width: 60vw; padding-right: 30px }
.search kbd { position: absolute; right: 7px; padding: 0 6px; border: 1px solid var(--line); border-radius: 4px; color: var(--quiet); pointer-events: none }
.search input:focus + kbd { visibility: hidden }
.filters output { margin-left: auto; font-variant-numeric: tabular-nums }
button { cursor: pointer }
button:hover { border-color: var(--quiet) }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px }

main { position: relative; flex: 1; min-height: 0; display: flex; border-top: 1px solid var(--line); background: var(--card) }
.nothing { position: absolute; inset: 40% 0 auto; text-align: center; color: var(--quiet) }
.panel {
  flex: none; width: 380px; overflow: auto; padding: 18px 20px 28px; border-left: 1px solid var(--line);
  background: var(--card); box-shadow: -6px 0 18px var(--shade); z-index: 5; overflow-wrap: anywhere;
}
.panel h2 { margin: 0 36px 4px 0; font-size: 17px; display: flex; gap: 8px; align-items: center; outline-offset: 4px }
.panel h3 { margin: 18px 0 6px; font-size: 12px; color: var(--quiet); font-weight: 600 }
.panel p { margin: 6px 0 }
.panel .close { float: right; width: 30px; padding: 0; font-size: 18px; line-height: 1; border-color: transparent; background: none; color: var(--quiet) }
.panel .who { font-size: 15px; font-weight: 600; unicode-bidi: isolate }
.panel .what { font-family: var(--mono); font-size: 12.5px }
.quiet { color: var(--quiet) }
.rule { margin: 0 0 8px; padding: 8px 10px; border: 1px solid var(--line); border-left: 4px solid var(--all-text); border-radius: 6px }
.rule.deny { border-left-color: var(--no-text) }
.rule code { display: block; margin-top: 4px; white-space: pre-wrap; unicode-bidi: isolate }
.rule b { font: 600 12px var(--mono) }
.fields { display: flex; flex-wrap: wrap; gap: 4px; margin: 0; padding: 0; list-style: none }
.fields li { padding: 1px 7px; border-radius: 4px; font: 12px/1.6 var(--mono) }
.fields.refused li { text-decoration: line-through }
.rules { display: none }

@media (max-width: 800px) {
  .filters { flex-wrap: nowrap; overflow-x: auto; white-space: nowrap }
  .filters > * { flex: none }
  .panel { position: absolute; inset: auto 0 0; width: auto; max-height: 60%; border-left: 0; border-top: 1px solid var(--line) }
}
@media print {
  @page { size: A4 landscape; margin: 10mm }
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --text: #000; --quiet: #444; --line: #bbb; --chip: #eee;
    --all: #c3e9cf; --all-text: #0c4a2b; --some: #fde7b0; --some-hatch: #f7d27e; --some-text: #5f3c00; --no: #fdf1f0; --no-text: #a3342f;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  html, body { height: auto }
  body { display: block; font-size: 9pt }
  main { display: block; border: 0 }
  header { padding: 0 0 4mm }
  .filters, .panel, .nothing { display: none !important }
  .rules { display: block; break-before: page }
  .rules h2 { font-size: 11pt }
  .rules dl { display: grid; grid-template-columns: max-content 1fr; gap: 1mm 5mm; font: 7.5pt/1.4 var(--mono) }
  .rules dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap }
}
`
