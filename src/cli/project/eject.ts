/** sallyport eject: the files of the demo, to change them. */
import { join } from 'node:path'
import { print } from '../../present/print.ts'
import { CliCommand } from '../options.ts'

export function ejectCommand(): CliCommand {
  return new CliCommand('eject')
    .description('copy the schemas and the policy of the demo out of the package, to change them')
    .argument('[directory]', 'where schemas/ and policies/ are made', '.')
    .note('Exit code: 0, or 2 when it could not run; then it wrote nothing.')
    .examples('eject', 'eject my-api')
    .action(async (directory: string) => {
      const { ejectDemo } = await import('../../tools/project/eject-demo.ts')
      const folders = await ejectDemo(directory)
      print(folders.map((name) => `${join(directory, name)}/\n`).join(''))
    })
}
