/** sallyport data …: looks at the objects in a database, and changes them as a whole. */
import { readConfig } from '../../config.ts'
import { CliCommand, type PolicySettings } from '../options.ts'
import { declareDataCheck } from './check.ts'
import { declareDataExport } from './export.ts'
import { declareDataImport } from './import.ts'

export function dataCommand(settings: PolicySettings = () => readConfig(process.env)): CliCommand {
  const data = new CliCommand('data').description('check, export and import the objects in a database')
  declareDataCheck(data, settings)
  declareDataExport(data)
  declareDataImport(data)
  return data
}
