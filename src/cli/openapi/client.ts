/** sallyport client */
import { Command } from 'commander'
import { commandProcess } from '../../base/command-process.ts'
import { print, printProblem } from '../../present/print.ts'
import { POLICIES, ROLES_OF_CALLER, SCHEMAS, settingsWith, withHelp } from '../options.ts'

export function clientCommand() {
  return withHelp(new Command('client'), {
    about: 'make a typed client of the API as one TypeScript file, which needs nothing but fetch',
    note: `openapi-typescript makes the types. It has to be installed in the project of the file:
npm install --save-dev openapi-typescript@7 typescript@5`,
    examples: ['client --out src/api.ts', 'client --out src/api.ts --role member --check'],
  })
    .requiredOption('--out <file>', 'the file to make, or to make again')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(ROLES_OF_CALLER)
    .option('--check', 'change nothing; exit 1 if the file is not what would be made')
    .action(async (flags) => {
      const { openapiDocument } = await import('./document.ts')
      const { makeClient, writeClient } = await import('../../tools/client/make-client.ts')
      const { place, schemas, role, out, check } = await settingsWith(flags)
      const file = await makeClient(await openapiDocument({ policies: place, schemas, role }), out, role)
      const same = file.text === file.current
      if (same) print(`${out} is up to date\n`)
      else if (check) {
        printProblem(`${out} is not what the schemas and the policy say: make it again without --check\n`)
        commandProcess().exitCode = 1
      } else {
        await writeClient(file)
        print(`made ${out}\n`)
      }
    })
}
