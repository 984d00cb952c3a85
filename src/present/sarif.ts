/** Findings as SARIF 2.1.0, which code hosts show beside the lines. */
import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Diagnostic } from '../base/diagnostic.ts'
import { count, jsonText } from './text.ts'

/** A code that findings can have. */
export interface FindingRule {
  readonly code: string
  readonly severity: Diagnostic['severity']
  /** Sentences without a final period. */
  readonly meaning: string
  readonly fix: string
}

export interface SarifFindings {
  readonly findings: readonly Diagnostic[]
  /** How many are not among them. */
  readonly more: number
  /** The texts of files, by the name that findings use: a finding stays the same one when lines above it change. */
  readonly sources?: ReadonlyMap<string, string>
}

/** The findings of one command, as a run of a tool. */
export interface SarifRun {
  readonly tool: { readonly driver: { readonly name: string; readonly rules: readonly unknown[] } }
  readonly invocations: readonly unknown[]
  readonly columnKind: 'utf16CodeUnits'
  readonly results: readonly unknown[]
}

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json'

/** https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function sarifText(runs: readonly SarifRun[]): string {
  return jsonText({ $schema: SCHEMA, version: '2.1.0', runs })
}

/** `command`: the words behind `sallyport`; `rules`: every code that its findings can have. */
export function sarifRun(
  command: string,
  rules: readonly FindingRule[],
  { findings, more, sources = new Map() }: SarifFindings,
): SarifRun {
  const fingerprint = fingerprints(sources)
  return {
    tool: { driver: { name: `sallyport ${command}`, rules: rules.map(rule) } },
    invocations: [{ executionSuccessful: true, toolExecutionNotifications: more > 0 ? [notShown(more)] : [] }],
    columnKind: 'utf16CodeUnits',
    results: findings.map((finding) => result(finding, fingerprint(finding))),
  }
}

function notShown(more: number): unknown {
  return { level: 'warning', message: { text: `and ${count(more, 'more finding')}, not listed here; fix these first` } }
}

function rule({ code, meaning, fix, severity }: FindingRule): unknown {
  return {
    id: code,
    shortDescription: { text: `${meaning}.` },
    help: { text: `${fix}.` },
    defaultConfiguration: { level: severity },
  }
}

function result({ code, severity, message, hint, file, line, column }: Diagnostic, fingerprint: string): unknown {
  const artifactLocation = { uri: uriOf(file) }
  return {
    ruleId: code,
    level: severity,
    message: { text: hint ? `${message} (${hint})` : message },
    locations: [{ physicalLocation: { artifactLocation, region: { startLine: line, startColumn: column } } }],
    partialFingerprints: { 'sallyportFinding/v1': fingerprint },
  }
}

/** The code, the file, the text of the line, and the number of such findings before: not the number of the line. */
function fingerprints(sources: ReadonlyMap<string, string>): (finding: Diagnostic) => string {
  const lines = new Map([...sources].map(([name, text]) => [name, text.split(/\r?\n/)]))
  const times = new Map<string, number>()
  return ({ code, file, line, message }) => {
    const text = lines.get(file)?.[line - 1]?.trim() || message
    const same = JSON.stringify([code, file, text])
    const before = times.get(same) ?? 0
    times.set(same, before + 1)
    return createHash('sha256').update(`${same}${before}`).digest('hex').slice(0, 32)
  }
}

/** A path as a URI reference (SARIF, section 3.4.3). */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href
  return file.split('/').map(encodeURIComponent).join('/')
}
