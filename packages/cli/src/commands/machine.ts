import type { Command } from 'commander'
import type { PlaceOptions } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { localCommand, placeOptions } from './options.ts'

interface LocalOptions extends PlaceOptions {
  readonly json?: boolean
}

/** `svc node init`, `config check`, `vault rotate`, `store new`, `store accept`, `doctor`: what works on this machine's files. */
export function addMachineCommands(program: Command, terminal: Terminal): void {
  const node = program.command('node').description('this node')
  placeOptions(
    localCommand(node, 'init', 'make the node, its keys and its mesh CA; a second run changes nothing'),
  )
    .option('--name <name>', "the node's name; the host's when absent")
    .action(async (options: LocalOptions & { readonly name?: string }) => {
      const { initNodeHere } = await import('../offline/init-node.ts')
      await initNodeHere(terminal, options)
    })
  const config = program.command('config').description('the configuration')
  localCommand(config, 'check [file]', 'name every problem: file, line, column, key and what is allowed')
    .option('--config <file>', 'the file, as elsewhere (/etc/svc/control.yaml when none is named)')
    .action(async (named: string | undefined, options: Pick<LocalOptions, 'config' | 'json'>) => {
      const { checkConfigFile } = await import('../offline/check-config-file.ts')
      await checkConfigFile(terminal, named ?? options.config, options.json === true)
    })
  const vault = program.command('vault').description('the key that seals secrets in the store')
  placeOptions(
    localCommand(vault, 'rotate', 'seal everything under a new key; may be broken off and run again'),
  ).action(async (options: LocalOptions) => {
    const { rotateVaultHere } = await import('../offline/rotate-vault.ts')
    await rotateVaultHere(terminal, options)
  })
  const store = program.command('store').description('where everything is kept')
  placeOptions(
    localCommand(store, 'new', 'let the next start make an empty store, where the old one is gone for good'),
  ).action(async (options: LocalOptions) => {
    const { permitNewStoreHere } = await import('../offline/new-store.ts')
    await permitNewStoreHere(terminal, options)
  })
  placeOptions(
    localCommand(
      store,
      'accept',
      'let the next start go on without answered commits that the store has lost',
    ),
  ).action(async (options: LocalOptions) => {
    const { acceptStoreHere } = await import('../offline/new-store.ts')
    await acceptStoreHere(terminal, options)
  })
  placeOptions(localCommand(program, 'doctor', 'look for what is wrong here and say what to do'))
    .option('--listen <address>', 'listen address of the service (from the configuration when absent)')
    .action(async (options: LocalOptions & { readonly listen?: string }) => {
      const { runDoctor } = await import('../doctor/doctor.ts')
      await runDoctor(terminal, options)
    })
}
