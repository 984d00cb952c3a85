/** sallyport data …: looks at the objects in a database, and changes them as a whole. */
import { environment } from '../../base/command-process.ts'
import { readConfig } from '../../config/config.ts'
import { CliCommand, type PolicySettings } from '../options.ts'
import { declareDataCheck } from './check.ts'
import { declareDataExport } from './export.ts'
import { declareDataImport } from './import.ts'
import { declareMigrate } from './migrate.ts'

export function dataCommand(program: string, settings: PolicySettings = () => readConfig(environment())): CliCommand {
  const data = new CliCommand('data').description('check, migrate, export and import the objects in a database')
  declareDataCheck(data, settings)
  declareMigrate(data, program)
  declareDataExport(data)
  declareDataImport(data)
  return data
}
