/** sallyport schema …: examines schema files without a running server. */
import { readConfig } from '../../config.ts'
import { CliCommand, type FolderFlags } from '../options.ts'
import { declareSchemaCheck } from './check.ts'

export function schemaCommand(usual: () => Required<FolderFlags> = () => readConfig(process.env)): CliCommand {
  const schema = new CliCommand('schema').description('check schema files, and tell what a change of them means')
  declareSchemaCheck(schema, usual)
  return schema
}
