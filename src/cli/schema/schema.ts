/** sallyport schema …: examines schema files without a running server. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { CliCommand, type PolicySettings } from '../options.ts'
import { declareSchemaCheck } from './check.ts'
import { declareSchemaDiff } from './diff.ts'

export function schemaCommand(settings: PolicySettings = () => readConfig(environment())): CliCommand {
  const schema = new CliCommand('schema').description('check schema files, and tell what a change of them means')
  declareSchemaCheck(schema, settings)
  declareSchemaDiff(schema, settings)
  return schema
}
