import { Option } from 'commander'
import type { LabOptions } from '../lab.ts'
import { labCorePrograms } from '../package-root.ts'
import type { Part } from '../part.ts'

/** `svc lab` */
export const part: Part = {
  commands: [
    (program, terminal) => {
      program
        .command('lab')
        .description('run the service with a simulated core, radio and phones beside it, until Ctrl-C')
        .option('--config <file>', 'YAML configuration; it names its own core, and none is simulated')
        .option('--data-dir <dir>', 'data and keys directory (SVC_SERVER_DATADIR; ./data when absent)')
        .option('--listen <address>', 'REST and metrics listen address (default: 0.0.0.0:8080)')
        .addOption(
          new Option('--log-level <level>', 'default: info').choices(['debug', 'info', 'warn', 'error']),
        )
        .option(
          '--safe-mode',
          'leave installed plugins alone, when one of them keeps the service from working',
        )
        .option('--no-core', 'the service alone')
        // It always does; `npm start` may be told as the service is.
        .addOption(new Option('--first-start').hideHelp())
        .action(async (options: LabOptions) => {
          const { runLab } = await import('../lab.ts')
          terminal.answer(await runLab(terminal, options, labCorePrograms()))
        })
    },
  ],
}
