/**
 * Findings as SARIF 2.1.0, which code hosts show beside the lines.
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { type CataloguedCode, CODES } from './catalogue.ts'
import type { CheckReport } from './check-policy.ts'

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json'

export function findingsSarif({ findings, more }: CheckReport): string {
  const log = {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'sallyport policy check', rules: [...CODES.values()].map(rule) } },
        invocations: [{ executionSuccessful: true, toolExecutionNotifications: more > 0 ? [notShown(more)] : [] }],
        columnKind: 'utf16CodeUnits',
        results: findings.map(result),
      },
    ],
  }
  return `${JSON.stringify(log, null, 2)}\n`
}

function notShown(more: number): unknown {
  return { level: 'warning', message: { text: `and ${more} more findings, which are not listed; fix these first` } }
}

function rule({ code, meaning, mend, severity }: CataloguedCode): unknown {
  return {
    id: code,
    shortDescription: { text: `${meaning}.` },
    help: { text: `${mend}.` },
    defaultConfiguration: { level: severity },
  }
}

function result({ code, severity, message, hint, file, line, column }: Diagnostic): unknown {
  const artifactLocation = { uri: uriOf(file) }
  return {
    ruleId: code,
    level: severity,
    message: { text: hint ? `${message} (${hint})` : message },
    locations: [{ physicalLocation: { artifactLocation, region: { startLine: line, startColumn: column } } }],
  }
}

/** A path as a URI reference (section 3.4.3). */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href
  return file.split('/').map(encodeURIComponent).join('/')
}
