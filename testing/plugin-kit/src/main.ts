#!/usr/bin/env node
import { basename, extname, resolve } from 'node:path'
import { makeSigningKey, readSigningKey } from '@steeple/contracts'
import { keyId, packPlugin } from '@steeple/kernel'
import { Command } from 'commander'
import { buildPlugin } from './build.ts'
import { nodeProblem } from './node-version.ts'
import { runTests } from './run-tests.ts'
import { typeCheck } from './type-check.ts'

const program = new Command('steeple-plugin').description('builds, tests and packs the plugin in this folder')

program
  .command('build')
  .description('dist/plugin.js: one file, and the types are looked at')
  .action(async () => {
    const { file, bytes } = await buildPlugin(process.cwd())
    if (!(await typeCheck(process.cwd()))) throw new Error('the types do not fit; see above')
    say(`built ${file}, ${bytes} bytes`)
  })
program
  .command('typecheck')
  .description('look at the types alone')
  .action(async () => {
    if (!(await typeCheck(process.cwd()))) throw new Error('the types do not fit; see above')
  })
program
  .command('test [part]')
  .description('run test/*.test.ts, or those with that in their path')
  .option('--mutants', 'run the conformance suites alone, with wrong drivers too: each must fail')
  .action(async (part: string | undefined, { mutants = false }: { readonly mutants?: boolean }) => {
    const failed = await runTests(process.cwd(), { part, mutants })
    if (failed.length > 0) throw new Error(`failed: ${failed.join(', ')}`)
  })
program
  .command('key <file>')
  .description('make a key that packages are signed with, and print what goes into plugins.trust')
  .option('--name <name>', 'name of the person or team with the key (default: the name of the file)')
  .action(async (file: string, { name }: { readonly name?: string }) => {
    const { publicKey } = await makeSigningKey(resolve(file))
    say(`made ${file}, key ${keyId(publicKey)}: keep it to yourself`)
    process.stdout.write(`plugins: {trust: ["${publicKey} ${name ?? basename(file, extname(file))}"]}\n`)
  })
program
  .command('pack')
  .description('<id>-<version>.tgz, signed, of what build has made')
  .option('--key <file>', 'the key to sign with; SVC_PLUGIN_KEY names it, too')
  .option('--unsigned', 'without a signature')
  .option('--out <dir>', 'where to', '.')
  .action(async (options: { readonly key?: string; readonly unsigned?: boolean; readonly out: string }) => {
    const file = options.key ?? process.env.SVC_PLUGIN_KEY
    if ((file === undefined) === (options.unsigned !== true))
      throw new Error(
        '--key FILE says who signs (steeple-plugin key FILE makes one), or --unsigned that nobody does',
      )
    const signing = file === undefined ? {} : { key: await readSigningKey(resolve(file)) }
    const packed = await packPlugin(process.cwd(), { out: resolve(options.out), ...signing })
    for (const warning of packed.warnings) say(`warning: ${warning}`)
    say(
      `${packed.id} ${packed.version}, ${packed.signedBy === undefined ? 'not signed' : `signed with the key ${packed.signedBy}`}`,
    )
    process.stdout.write(`${packed.file}\n`)
  })

const problem = nodeProblem(process.versions.node, process.execPath)
if (problem !== undefined) end(new Error(problem))
await program.parseAsync().catch(end)

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function end(error: unknown): never {
  say(`steeple-plugin: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
